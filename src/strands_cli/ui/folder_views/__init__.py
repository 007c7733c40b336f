"""The pages of `strands ui` about the workflows of the folder and the installed tools."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
