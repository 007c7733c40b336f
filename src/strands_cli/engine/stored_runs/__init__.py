"""Runs on disk: list, find, cancel, delete, and hide their secrets."""
