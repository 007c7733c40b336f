"""The commands that run a workflow or continue a run, and what surrounds it."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
