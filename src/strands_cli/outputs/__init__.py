"""Turns events and results into files: artifacts and recordings."""
