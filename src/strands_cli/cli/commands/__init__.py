"""The commands: their shared parts, and the short ones, one module each."""
