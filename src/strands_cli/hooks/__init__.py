"""The hooks that plugins may implement, and the one place that loads and calls them."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
