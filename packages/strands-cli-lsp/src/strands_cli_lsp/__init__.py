"""A language server for workflow files, and the corrections of `strands validate --fix`."""

__all__ = ["__version__"]

__version__ = "0.1.0"
