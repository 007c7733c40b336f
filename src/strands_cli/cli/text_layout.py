"""Text for a terminal: columns aligned, lines cut or broken between words."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest

# A line's end that a person copies into a shell.
_COMMAND = re.compile(r"(?:(?<=: )|(?<=^ ) *|^)(?:strands|pip|export|python3?) [^ ;][^;]*$")
# The fewest columns of a table's column that does not fit.
_FEWEST = 8


def one_line(text: str) -> str:
    r"""Return a text as one line, to be part of a line of ours: a line end becomes `\\n`."""
    return text.replace("\n", "\\n")


def aligned(rows: Sequence[Sequence[str]], columns: int | None = None) -> list[str]:
    """Return rows as lines of aligned columns; the last column is not padded.

    Args:
        columns: Of the terminal: cells that do not fit are broken, and such a row has several lines. None fits all.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if columns is None or sum(widths) + 2 * len(widths) - 2 <= columns:
        return [_line(row, widths) for row in rows]
    widths = _fitting(rows, columns)
    return ["\n".join(_lines(row, widths)) for row in rows]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - width_of(cell)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _lines(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a row whose cells are broken."""
    broken = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*broken, fillvalue=""):
        yield _line(parts, widths)


def _fitting(rows: Sequence[Sequence[str]], columns: int) -> list[int]:
    """Return widths that fit: the widest column gives way first, down to its longest word, then below that."""
    table = list(zip(*rows, strict=True))
    widths = [max(map(width_of, column)) for column in table]
    words = [max((width_of(word) for cell in column for word in cell.split()), default=0) for column in table]
    room = columns - 2 * len(widths) + 2
    for least in ([max(_FEWEST, word) for word in words], [_FEWEST] * len(widths)):
        while sum(widths) > room:
            index = max(range(len(widths)), key=lambda one: widths[one] - least[one])
            if widths[index] <= least[index]:
                break
            widths[index] -= 1
    return widths


def fitted(text: str, columns: int) -> tuple[str, int]:
    """Return the start of a line that fits into `columns`, and its width (East Asian characters take two columns)."""
    width = 0
    for index, char in enumerate(text):
        step = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if width + step > columns:
            return text[:index], width
        width += step
    return text, width


def wrapped(line: str, columns: int, indent: str = "", *, breaks_words: bool = True) -> list[str]:
    """Return a line as rows of at most `columns` columns, broken between words.

    Args:
        indent: Before every row but the first.
        breaks_words: Whether a word that is longer than a row is broken; else it stays whole, as does a command, so
            that a person can copy it, and only a row of such a word is longer.
    """
    if len(line) <= columns // 2 or width_of(line) <= columns:
        return [line]
    columns = max(columns, len(indent) + 8)
    rows, row = [], ""
    for space, word in _words(line, whole=not breaks_words):
        if row.strip() and width_of(row + space + word) > columns:
            rows.append(row)
            row, space = indent, ""
        row += space + word
        while breaks_words and width_of(row) > columns:
            part = fitted(row, columns)[0]
            rows.append(part)
            row = indent + row[len(part) :]
    return [*rows, row]


def width_of(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else fitted(text, sys.maxsize)[1]


def _words(line: str, *, whole: bool) -> list[tuple[str, str]]:
    """Return each word with the spaces before it; with `whole` a command is one word, as it is between backticks."""
    if not whole:
        return re.findall(r"( *)([^ ]+)", line)
    command = _COMMAND.search(line)
    head, tail = (line[: command.start()], line[command.start() :]) if command else (line, "")
    words: list[tuple[str, str]] = re.findall(r"( *)((?:[^ `]*`[^`]*`)+[^ `]*|[^ ]+)", head)
    space = head[len(head.rstrip(" ")) :]
    return [*words, (space, tail)] if tail else words
