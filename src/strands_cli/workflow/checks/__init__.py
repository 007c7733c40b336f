"""Checks of a workflow that fits the format."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
