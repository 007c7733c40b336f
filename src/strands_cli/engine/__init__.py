"""Runs a plan: every effect goes through `run`, keyed by its path and written to the journal."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
