"""Match the arguments of a call with globs: texts, paths, addresses, and the resources that tools declare."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
