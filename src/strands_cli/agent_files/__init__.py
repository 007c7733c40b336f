"""Reusable agents in files of their own: checked, run once, and tested."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
