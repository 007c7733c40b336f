"""Send HTTP requests and read web pages without reaching private networks."""

from __future__ import annotations

__version__ = "0.1.0"
