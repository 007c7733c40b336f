"""Tools read from Python source, without importing it."""
