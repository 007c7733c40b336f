"""Runs of strands-cli in a Postgres database."""

from __future__ import annotations

__version__ = "0.1.0"
