"""The commands: what they share, and the short ones, one module each."""
