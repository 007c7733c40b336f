"""Run agent workflows written in YAML on the Strands Agents SDK, with tools that are plugins."""

from __future__ import annotations

__version__ = "0.1.0"
