"""Child processes of the local page: each start, answer or resume is a command line of its own."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
