"""Workflows, agents and skills that installed distributions bring as files; no package is imported."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
