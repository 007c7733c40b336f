"""The patterns of the format: each file is one pattern, and one holds them by name."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
