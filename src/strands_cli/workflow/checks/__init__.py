"""Checks of a workflow that fits the format."""
