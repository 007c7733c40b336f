"""Templates: text with `{{ expressions }}`, rendered in a sandbox."""
