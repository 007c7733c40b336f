"""Searching the lines of an index."""
