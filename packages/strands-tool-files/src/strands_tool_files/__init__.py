"""Read, write, list and search files inside one workspace."""

from __future__ import annotations

__version__ = "0.1.0"
