"""A build hook for hatchling that makes or checks `strands_tools.json`."""

from __future__ import annotations

__version__ = "0.1.0"
