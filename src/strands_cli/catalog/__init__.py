"""The installed tools, from entry points, manifests and source; imports no plugin."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
