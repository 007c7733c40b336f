"""The spans of a run, opened around it and its steps, redacted and exported; and the metrics of a worker."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
