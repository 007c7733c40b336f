"""The command `strands doctor`: the working and the failing parts of this machine, with a fix."""

__all__ = ["__version__"]

__version__ = "0.1.0"
