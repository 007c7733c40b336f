"""The patterns of the format: one model per file, and a table of them by name."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
