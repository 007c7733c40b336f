"""Tools of a run: load, permission check, call, result."""
