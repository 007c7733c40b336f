"""The commands about installed tools: list, show and run them, import servers."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
