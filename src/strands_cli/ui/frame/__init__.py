"""The frame of the pages of `strands ui`: links to each other, the one script, forms, and the policy of a page."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
