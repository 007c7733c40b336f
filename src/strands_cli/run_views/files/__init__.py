"""The files of a stored run, wherever it was worked on."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
