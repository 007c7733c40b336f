"""Reusable agents in files of their own: checked, run once, and tested."""
