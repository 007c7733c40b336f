"""Text to a valid `WorkflowSpec`, remembering line and column of every node."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
