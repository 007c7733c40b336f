"""Rows from CSV and JSON Lines, checked against the inputs of a workflow before any of them runs."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
