"""The local page: runs, questions, tools and workflows in a browser, on this machine only."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
