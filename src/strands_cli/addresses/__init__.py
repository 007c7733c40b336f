"""Addresses: whether what a workflow names certainly is public, and which addresses a connection to it may end at."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
