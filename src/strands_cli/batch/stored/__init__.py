"""Batches in a store: their names and ids, opening one, looking at it, its end."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
