"""YAML text to a `Document` with line and column of each node, and the files that a run has stored."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
