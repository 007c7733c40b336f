"""The command `strands doctor`: what works on this machine and what does not, with a fix."""

__all__ = ["__version__"]

__version__ = "0.1.0"
