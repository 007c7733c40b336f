"""Runs a plan: every effect goes through `run`, keyed by its path and written to the journal."""
