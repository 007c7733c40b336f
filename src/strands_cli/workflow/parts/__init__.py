"""Parts of a workflow in files of their own: agents, and what `$ref` names."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
