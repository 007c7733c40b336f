"""Tools of distributions that declare none: what a person adopted, in `strands-adopted.json`."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
