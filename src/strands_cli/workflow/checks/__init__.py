"""What a well-formed workflow can still get wrong."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
