"""JSON Schemas: values against them, and the form in which a provider accepts them."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
