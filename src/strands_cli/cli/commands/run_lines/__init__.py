"""The lines and documents that show a run."""
