"""Installed plugins: list them, verify their files, find the workflows that use them."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
