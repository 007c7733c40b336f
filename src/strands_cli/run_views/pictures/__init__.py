"""A run as pictures show it, as values: its timeline, its pattern, its costs and its budget."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
