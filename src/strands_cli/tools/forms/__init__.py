"""The Python forms of a tool, read after its import and compared with its manifest."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
