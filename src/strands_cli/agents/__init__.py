"""Agents of the Strands SDK, their models and conversations, and the replay model."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
