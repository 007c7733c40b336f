"""Models: the SDK's object for each provider; each request is journaled, retried, or played from a recording."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
