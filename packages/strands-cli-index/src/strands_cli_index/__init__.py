"""Plugin indexes: search them, build them, and install from them after a preview, with who published each file."""

__all__ = ["__version__"]

__version__ = "0.1.0"
