"""JSON Schemas: validation of values, and references written out."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
