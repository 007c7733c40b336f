"""Differences between two documents: JSON pointers and both values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strands_cli.texts.phrases import short_json


def differences(old: Any, new: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the JSON pointer and both values of each difference between two documents; an absent value is `...`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from differences(old.get(key, ...), new.get(key, ...), f"{pointer}/{escaped}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, f"{pointer}/{index}")
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield pointer, old, new


def json_line(value: Any) -> str:
    """Return a value as one line of at most 80 characters of JSON."""
    return "nothing" if value is ... else short_json(value, 77)
