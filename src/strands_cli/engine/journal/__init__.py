"""The journal of a run: its rows, and their storage in SQLite."""
