"""The pages of a plugin index for people."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
