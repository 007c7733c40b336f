"""Turns of work that many runs want at once: requests to model providers, and rows of a batch."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
