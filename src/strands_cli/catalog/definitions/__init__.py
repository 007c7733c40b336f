"""Manifests of tools, and the differences between two definitions."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
