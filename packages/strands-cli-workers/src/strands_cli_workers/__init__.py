"""Queues and workers for runs of strands-cli, on DBOS Transact and Postgres."""

__all__ = ["__version__"]

__version__ = "0.1.0"
