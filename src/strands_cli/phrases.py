"""Short phrases for messages: texts cut to a length, numbers with their nouns, the first of many names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters; `...` at the end says that there were more."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def short_json(value: Any, limit: int) -> str:
    """Return a value as one line of JSON, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False), limit)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 tool`, `2 tools`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def joined(value: object) -> str:
    """Return the items of a list, joined by commas, or the text of another value."""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, joined by commas, and the number of the others."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
