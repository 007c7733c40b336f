"""Notify people of runs that wait, end or fail, by a command or a signed webhook."""

__all__ = ["__version__"]

__version__ = "0.1.0"
