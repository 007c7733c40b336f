"""From each tool name of a workflow to a planned tool."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
