"""Text for a terminal: columns aligned, lines cut or broken between words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def one_line(text: str) -> str:
    r"""Return a text as one line, to be part of a line of ours: a line end becomes `\\n`."""
    return text.replace("\n", "\\n")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines of aligned columns; the last column is not padded."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def fitted(text: str, columns: int) -> tuple[str, int]:
    """Return the start of a line that fits into `columns`, and its width (East Asian characters take two columns)."""
    width = 0
    for index, char in enumerate(text):
        step = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if width + step > columns:
            return text[:index], width
        width += step
    return text, width


def wrapped(line: str, columns: int, indent: str = "") -> list[str]:
    """Return a line as rows of at most `columns` columns, broken between words; a longer word is broken inside.

    Args:
        indent: Before every row but the first.
    """
    columns = max(columns, len(indent) + 8)
    rows: list[str] = []
    before, rest = "", line
    while len(row := fitted(rest, columns - len(before))[0]) < len(rest):
        end = len(row) if rest[len(row)] == " " else row.rstrip(" ").rfind(" ") + 1
        # An indented line has no break in its indentation.
        end = end if row[:end].strip() else len(row)
        rows.append(before + rest[:end].rstrip(" "))
        before, rest = indent, rest[end:].lstrip(" ")
    return [*rows, before + rest] if rest or not rows else rows
