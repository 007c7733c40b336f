"""Plugin indexes: where they are, reading them, and the release that a name means."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
