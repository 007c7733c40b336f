"""Secrets: where their values come from, and the redactor that hides them and personal data."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
