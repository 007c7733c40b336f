"""Runs that were submitted: what is stored of them, and their workflow on another machine."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
