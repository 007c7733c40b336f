"""The hooks that plugins may implement: what their authors import, and how the program asks them."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
