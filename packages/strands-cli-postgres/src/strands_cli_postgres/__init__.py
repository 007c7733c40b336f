"""Runs of strands-cli in a Postgres database; `store` has the objects of the distribution's entry points."""

from __future__ import annotations

from strands_cli_postgres.opener import store as store

__version__ = "0.1.0"
