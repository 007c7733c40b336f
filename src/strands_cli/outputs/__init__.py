"""The files of a run: artifacts, recordings, notes, traces, and the results of tests as JUnit XML."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
