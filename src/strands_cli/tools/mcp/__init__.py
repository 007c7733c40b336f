"""MCP servers: started once per run, called, and always stopped."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
