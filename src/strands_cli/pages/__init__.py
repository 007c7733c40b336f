"""Stored runs as pages: HTML, SVG and safe Markdown, in one file that asks no other host for anything."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
