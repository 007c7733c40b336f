"""Many stored runs at once: numbers about them, and texts found in them."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
