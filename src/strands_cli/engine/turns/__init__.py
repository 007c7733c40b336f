"""Turns of work that many runs want at once: requests to model providers, and rows of a batch."""
