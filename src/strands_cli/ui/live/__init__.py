"""Live pages: changes of runs, noticed once for all tabs, as streams of server-sent events."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
