"""Rows from CSV and JSON Lines, checked against the inputs of a workflow before any of them runs."""
