"""Secrets: where their values come from, and the redactor that hides them and personal data."""

from __future__ import annotations

from strands_cli.secrets.redactor import HIDE_NOTHING, MARK, MIN_LENGTH, Redactor

__all__ = ["HIDE_NOTHING", "MARK", "MIN_LENGTH", "Redactor"]
