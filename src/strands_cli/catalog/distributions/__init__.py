"""Installed distributions: their entry points, headers and requirements, without imports."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
