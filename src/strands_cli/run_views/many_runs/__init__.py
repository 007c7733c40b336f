"""Many stored runs at once: numbers about them, and texts found in them."""
