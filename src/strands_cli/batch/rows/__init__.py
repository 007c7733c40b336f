"""How the rows of a batch end, as values."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
