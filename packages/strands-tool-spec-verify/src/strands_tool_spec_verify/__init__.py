"""Check workflow files from inside an agent: the tool `spec_verify` in its module of this package."""

from __future__ import annotations

__version__ = "0.1.0"
