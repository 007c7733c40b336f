"""The journal of a run: its rows, and their storage in SQLite."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
