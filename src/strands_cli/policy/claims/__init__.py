"""What tools declare about themselves, and what the arguments of a call name."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
