"""The work on a batch: rows are run at a rate, and their results written."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
