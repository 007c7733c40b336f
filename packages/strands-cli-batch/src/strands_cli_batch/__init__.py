"""The command `strands batch`: the rows of a file are checked, run and written, and a journal knows all of them."""

__all__ = ["__version__"]

__version__ = "0.1.0"
