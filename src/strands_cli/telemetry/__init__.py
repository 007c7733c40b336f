"""Spans of a run: opened, redacted, sent."""
