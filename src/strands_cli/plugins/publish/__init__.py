"""What is between a plugin's project and a package index: its metadata, its readme, its wheel, and who attests it."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
