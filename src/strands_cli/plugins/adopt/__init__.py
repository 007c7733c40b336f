"""Adopt tools of distributions that declare none: find, choose, name, write."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
