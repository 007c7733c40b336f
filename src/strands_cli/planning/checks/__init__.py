"""Checks of a plan that need more than the workflow file."""
