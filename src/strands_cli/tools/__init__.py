"""Tools of a run: load, permission check, call, result."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
