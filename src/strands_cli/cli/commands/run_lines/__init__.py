"""The lines and documents that show a run."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
