"""Runs a plan: each effect has a key, is written to the journal, and is not repeated."""
