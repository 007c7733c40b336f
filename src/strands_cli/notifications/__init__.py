"""Messages to people about runs that wait, end or fail: a command, or a signed webhook."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
