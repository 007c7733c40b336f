"""Plans of every workflow and agent file in a folder."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
