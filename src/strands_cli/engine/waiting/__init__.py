"""What a stored run waits for, for people who are elsewhere: questions with commands that answer, and their hook."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
