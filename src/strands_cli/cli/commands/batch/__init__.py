"""The commands about many runs of one workflow: start them, look at them, continue them."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
