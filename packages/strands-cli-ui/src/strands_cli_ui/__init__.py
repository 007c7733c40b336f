"""The local page: runs, questions, tools and workflows in a browser, on this machine only."""

__all__ = ["__version__"]

__version__ = "0.1.0"
