"""The fields of a tool's definition in files that others write, and how such a file is read and checked."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
