"""The patterns of the format: one model per file, and a table of them by name."""
