"""What is stored when a run starts, and compared when it continues."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
