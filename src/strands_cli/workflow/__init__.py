"""From text to a valid `WorkflowSpec`, with line and column of each node."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
