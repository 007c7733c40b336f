"""What people see of stored runs, as values: a tree of effects, and what is derived from it."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
