"""The commands: what they share, and the short ones, one module each."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
