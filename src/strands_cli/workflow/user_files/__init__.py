"""The YAML files that a person or an operator keeps: policy and settings."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
