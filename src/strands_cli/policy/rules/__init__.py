"""Rules of a policy: patterns of tools and arguments, and their effect."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
