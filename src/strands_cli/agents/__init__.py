"""The only room that imports the Strands SDK or a tool plugin: agents, models, tools and the gate before each call."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
