"""Evaluate arithmetic safely, in floating point or exactly."""

from __future__ import annotations

__version__ = "0.1.0"
