"""Ask a model one question with tools, or chat with it, from a terminal or a pipe."""

__all__ = ["__version__"]

__version__ = "0.1.0"
