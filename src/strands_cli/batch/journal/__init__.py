"""The journal of a batch: how it runs, its rows with their outcomes, and their order."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
