"""Checks of a plan that need more than the workflow file."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
