"""This machine: what is installed, and which hooks, policy files, rules and lock hold."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
