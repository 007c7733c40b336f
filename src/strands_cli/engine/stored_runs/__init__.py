"""Runs on disk: list, find, cancel, delete, and hide their secrets."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
