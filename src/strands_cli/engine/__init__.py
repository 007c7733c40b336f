"""Runs a plan: each effect has a key, is written to the journal, and is not repeated."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
