"""Runs beyond this process: submitted to the queues of a store, and worked on by workers."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
