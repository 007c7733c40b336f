"""The pages of a plugin index for people."""
