"""Which tools are installed, from entry points, manifests and source, importing no plugin."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
