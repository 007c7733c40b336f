"""Where a run was worked on: the machine, the folder, and the worker."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
