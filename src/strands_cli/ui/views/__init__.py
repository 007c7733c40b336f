"""The pages of `strands ui` about runs and their questions, one module each: from a request to HTML."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
