"""The kinds of planned tools, their configuration, and the requests that policy decides on."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
