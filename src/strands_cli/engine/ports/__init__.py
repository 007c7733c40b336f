"""What the engine needs from other packages and from the machine."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
