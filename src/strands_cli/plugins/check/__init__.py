"""What authors of plugins make: a new project, its manifest, and the checks of both."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
