"""The files of an installed distribution: records, modules and their packages."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
