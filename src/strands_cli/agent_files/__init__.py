"""Agents in files of their own: checks, single runs, and tests."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
