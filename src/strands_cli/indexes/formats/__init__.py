"""The files of a plugin index: their names, their limits, and what is not one."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
