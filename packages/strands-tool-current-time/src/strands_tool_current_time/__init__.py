"""Tell the current time in any IANA time zone."""

from __future__ import annotations

__version__ = "0.1.0"
