"""The names of tools in rules, and the distributions that they mean."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
