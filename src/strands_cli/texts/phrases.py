"""Short phrases for messages: texts cut to a length, numbers with their nouns, durations, the first of many names."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

# The seconds of each letter in a typed duration: `12h`, `30d`.
SECONDS_OF_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters; `...` at the end says that there were more."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def short_json(value: Any, limit: int) -> str:
    """Return a value as one line of JSON, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False), limit)


def with_fix(reason: str, fix: str | None) -> str:
    """Return why something failed, with the known remedy."""
    return f"{reason}; {fix}" if fix else reason


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 tool`, `2 tools`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def tool_calls(number: int, failed: int) -> str:
    """Return how many tool calls a run made, and how many of them failed: `1 of 2 tool calls failed`."""
    return f"{failed} of {counted(number, 'tool call')} failed" if failed else counted(number, "tool call")


def duration(seconds: float | None) -> str:
    """Return a duration as short text: `340 ms`, `2.1 s`, `3 min 05 s`, `2 h 04 min`; empty where there is none."""
    if seconds is None:
        return ""
    if not math.isfinite(seconds):  # a damaged journal
        return "not known"
    # Each bound rounds up to the next unit.
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {rest:02} s"


def joined(value: object) -> str:
    """Return the items of a list, joined by commas, or the text of another value."""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, joined by commas, and the number of the others."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def twice(number: float) -> str:
    """Return two times a number as an option has it: whole, or with as many decimals as it needs."""
    if isinstance(number, int) or number >= 0.01:
        return f"{2 * number:.4f}".rstrip("0").rstrip(".")
    return f"{2 * number:.3g}"


def shown(value: Any) -> str:
    """Return a value of the document for a message, at most 60 characters of it."""
    return shortened(repr(value), 57)
