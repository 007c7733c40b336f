"""The last rows of a text that streams, broken at the width of the terminal."""

from __future__ import annotations

from collections import deque

from strands_cli.cli.text_layout import fitted
from strands_cli.texts.unicode_safety import printable

# More than fits into any block; what is older is never shown again.
KEPT_ROWS = 8
KEPT_CHARACTERS = 8_000


class StreamedText:
    """Takes pieces at the cost of a list; the one that draws pays for the layout, once per character."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._kept = ""
        self._rows: deque[str] = deque(maxlen=KEPT_ROWS)
        self._open = ""  # the row that the next piece goes on with
        self._is_inside = False  # whether that row begins inside a line
        self._columns = 0

    def feed(self, piece: str) -> None:
        """Add a piece."""
        self._pieces.append(piece)

    def rows(self, columns: int, most: int) -> list[str]:
        """Return up to `most` last rows that are not empty, each of printable text of at most `columns` columns."""
        columns = max(2, columns)  # any character fits
        new = "".join(self._pieces)[-KEPT_CHARACTERS:]
        self._pieces.clear()
        self._kept = (self._kept + new)[-KEPT_CHARACTERS:]
        if columns != self._columns:
            self._columns, new = columns, self._kept
            self._rows.clear()
            self._open, self._is_inside = "", False
        self._lay_out(new)
        rows = [*self._rows, self._open] if self._open.strip() else [*self._rows]
        return rows[-most:] if most > 0 else []

    def _lay_out(self, text: str) -> None:
        first, *others = text.split("\n")
        self._extend(first)
        for line in others:
            self._close()
            self._is_inside = False
            self._extend(line)

    def _extend(self, text: str) -> None:
        """Add text without a line end to the open row, and close each row that is full."""
        rest = self._open + printable(text.replace("\t", "    "))
        while True:
            rest = rest.lstrip(" ") if self._is_inside else rest
            row, _ = fitted(rest, self._columns)
            if len(row) == len(rest) or not row:
                self._open = row
                return
            row = _at_a_space(row, rest)
            self._open, rest = row, rest[len(row) :]
            self._close()
            self._is_inside = True

    def _close(self) -> None:
        if self._open.strip():
            self._rows.append(self._open.rstrip())
        self._open = ""


def _at_a_space(row: str, rest: str) -> str:
    """Return a row without the word that it would break, unless the word is long."""
    if rest[len(row)] == " ":
        return row
    whole, space, _ = row.rpartition(" ")
    return whole + space if len(whole) > len(row) // 2 else row
