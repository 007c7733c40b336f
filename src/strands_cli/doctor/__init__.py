"""Checks of this installation: Python, the SDK, providers, tools, policy, and what the system can enforce."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
