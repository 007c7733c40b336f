"""Tools of a run: loaded, checked before each call, called, and their results."""
