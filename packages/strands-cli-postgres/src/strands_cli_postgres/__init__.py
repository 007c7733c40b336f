"""Runs of strands-cli in a Postgres database; `store` is what the entry points of the distribution name."""

from __future__ import annotations

from strands_cli_postgres.opener import store as store

__version__ = "0.1.0"
