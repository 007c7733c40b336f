"""Messages of the SDK: their contents, and their JSON in the journal."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
