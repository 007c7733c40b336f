"""What a person does to an installation: install and verify plugins, and look whether everything is in order."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
