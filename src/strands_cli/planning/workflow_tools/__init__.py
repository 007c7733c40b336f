"""Tools that a workflow makes of agents, workflows and other tools."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
