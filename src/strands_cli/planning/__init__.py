"""From a workflow, the catalog and policy to a plan, or to every finding at once."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
