"""The lock file: its values, its reader and its writer."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
