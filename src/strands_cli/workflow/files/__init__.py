"""The other files of the format: policy files, recordings and skills."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
