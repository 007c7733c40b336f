"""From planned tools to Python objects that can be called."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
