"""Tools of a run: loaded, checked before each call, called, and their results."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
