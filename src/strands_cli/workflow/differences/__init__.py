"""What workflows of the earlier format mean, row by row, and which rows are about a file."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
