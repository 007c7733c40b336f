"""What a run's journal has of its artifacts: what was written, and the texts where it keeps them."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
