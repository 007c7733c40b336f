"""Secrets: where their values come from, and the redactor that hides them and personal data."""
