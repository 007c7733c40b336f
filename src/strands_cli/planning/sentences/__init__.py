"""What a plan uses of this machine and sends, in sentences for people."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
