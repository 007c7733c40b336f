"""The place of a cursor in a document, also while the line with it, or another part of the text, is half written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

MARK = "strandsCursor"
_TEMPLATE = re.compile(r"(\{\{|\{%)((?:(?!\}\}|%\}).)*)$")
_CLOSING = {"{": "}", "[": "]", '"': '"', "'": "'"}


class Cursor(NamedTuple):
    """Where a cursor is: the path to its key or value in the document, the data around it, and the text with a mark."""

    path: tuple[str | int, ...]
    is_key: bool
    data: Any
    text: str

    @property
    def pointer(self) -> str:
        """The path as a JSON pointer."""
        return "".join(f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in self.path)


def expression_before(line: str) -> tuple[int, str] | None:
    """Return where a template begins that a cursor at the end of a line is in, and the expression up to there."""
    match = _TEMPLATE.search(line)
    return None if match is None else (match.start(), match[2])


def cursors(text: str, line: int, begin: int, end: int, *, keys: bool = True) -> Iterator[Cursor]:
    """Yield the places that a word between two columns can have: as a key, and as a value."""
    lines = text.split("\n")
    head, rest = lines[line][:begin], lines[line][end:]
    for mark in (f"{MARK}: x", MARK) if keys else (MARK,):
        cursor = _located(lines, line, head, mark, [rest, _closed(head), _closed(head) + rest])
        if cursor is not None:
            yield cursor


def _located(lines: list[str], number: int, head: str, mark: str, tails: list[str]) -> Cursor | None:
    above, below = lines[:number], lines[number + 1 :]
    for before, after in ((above, below), (above, []), (_ancestors(above, head), [])):
        for tail in dict.fromkeys(tails):
            text = "\n".join([*before, f"{head}{mark}{tail}", *after])
            try:
                data = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 - this loader makes texts only
            except (yaml.YAMLError, AttributeError, ValueError, RecursionError):
                continue
            if (place := _find(data)) is not None:
                return Cursor(*place, data, text)
    return None


def _ancestors(above: list[str], head: str) -> list[str]:
    """Return the lines that a line is below, by their indentation."""
    indent, lines = len(head) - len(head.lstrip(" ")), list[str]()
    for line in reversed(above):
        own = len(line) - len(line.lstrip(" "))
        if line.strip() and not line.lstrip().startswith("#") and own < indent:
            lines.insert(0, line)
            indent = own
    return lines


def _closed(head: str) -> str:
    """Return the quotes and brackets that the beginning of a line leaves open."""
    opened: list[str] = []
    for at, char in enumerate(head):
        if opened and opened[-1] in "\"'":
            if char == opened[-1]:
                opened.pop()
        elif char in "{[" or (char in "\"'" and head[:at].rstrip()[-1:] in ("", ":", "-", ",", "[", "{")):
            opened.append(char)
        elif char in "}]" and opened:
            opened.pop()
    return "".join(_CLOSING[char] for char in reversed(opened))


def _find(data: Any) -> tuple[tuple[str | int, ...], bool] | None:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        if isinstance(key, str) and MARK in key:
            return (key,), True
        if isinstance(value, str) and MARK in value:
            return (key,), False
        if (inner := _find(value)) is not None:
            return (key, *inner[0]), inner[1]
    return None
