"""Where the runs of a person are stored."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
