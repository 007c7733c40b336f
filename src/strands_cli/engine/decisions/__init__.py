"""What a person decides about a stored run: answers, and what to do with interrupted calls."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
