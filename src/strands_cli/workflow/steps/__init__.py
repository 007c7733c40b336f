"""Models of the steps of a workflow, and of the tools that it names."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
