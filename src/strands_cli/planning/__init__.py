"""Where spec, catalog and policy meet, once: a plan, or every finding at once."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
