"""Texts: phrases for people, JSON in one form, and characters that hide something."""
