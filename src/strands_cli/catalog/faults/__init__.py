"""What is surely wrong with an entry point, in the same words for every command."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
