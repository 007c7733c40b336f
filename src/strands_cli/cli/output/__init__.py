"""Results on stdout, everything else on stderr, and the exit code of an error."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
