"""One whole effect of a stored run by its key: what it read, called, answered and cost."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
