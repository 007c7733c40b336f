"""Commands and files of the earlier strands-cli: `strands workflows agent`, for agents in files of their own."""

__all__ = ["__version__"]

__version__ = "0.1.0"
