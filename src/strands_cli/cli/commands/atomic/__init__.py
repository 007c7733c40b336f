"""The commands about single agents."""
