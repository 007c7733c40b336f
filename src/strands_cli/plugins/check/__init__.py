"""Checks of a plugin project and its manifest; a plugin is imported only in a child process."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
