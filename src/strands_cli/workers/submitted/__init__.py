"""Runs that were submitted: what is stored of them, and their workflow on another machine."""
