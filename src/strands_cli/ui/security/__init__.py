"""Who may see the local page: one-time tokens, sessions, and the checks that every request passes."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
