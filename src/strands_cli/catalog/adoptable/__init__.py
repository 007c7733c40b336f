"""Tools of installed distributions that declare none, found without an import: what a person can adopt."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
