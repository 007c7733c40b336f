"""Search the web with DuckDuckGo or Tavily."""

from __future__ import annotations

__version__ = "0.1.0"
