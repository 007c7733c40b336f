"""Templates: text with `{{ expressions }}`, rendered in a sandbox."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
