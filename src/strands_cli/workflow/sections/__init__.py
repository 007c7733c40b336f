"""Models of the sections of a workflow: budgets, inputs, environment, outputs, security."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
