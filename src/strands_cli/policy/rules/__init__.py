"""Rules of a policy: patterns of tools and arguments, and their effect."""
