"""Building a plugin index: a folder of wheels becomes a folder for a web server, and nothing is imported."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
