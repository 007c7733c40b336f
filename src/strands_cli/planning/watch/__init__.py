"""Files on which a plan depends, to plan again when one changes, and the workspace of its tools."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
