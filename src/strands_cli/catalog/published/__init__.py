"""The publishers that were verified on this machine, by what is installed."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
