"""What a terminal shows after the few codes that this program may send; any other control character is an error."""

from __future__ import annotations

import re
import unicodedata

_TOKEN = re.compile(r"\x1b\[(?P<number>\??\d*)(?P<code>[A-Za-z])|(?P<char>.)", re.DOTALL)
_DRAWING = re.compile(r"\x1b\[(?:\?7[lh]|K|J|\d+A|2m|0m)")


def without_drawing(text: str) -> str:
    """Return a text without the codes that draw the progress of a run."""
    return _DRAWING.sub("", text)


class Screen:
    """A screen of so many columns and rows; `text` is all that it shows, with what has left it at the top."""

    def __init__(self, columns: int = 100, rows: int = 40) -> None:
        self._columns, self._height = columns, rows
        self._lines: list[list[str]] = [[]]
        self._row = self._column = 0
        self._top = 0  # the first row that is not history
        self._wraps = True
        self.is_dim = False

    def feed(self, text: str) -> Screen:
        """Show a text."""
        for token in _TOKEN.finditer(text):
            if token["char"] is not None:
                self._put(token["char"])
            else:
                self._obey(token["number"], token["code"])
        return self

    @property
    def text(self) -> str:
        """All lines, without spaces at their ends and without empty lines at the end."""
        return "\n".join("".join(line).rstrip() for line in self._lines).rstrip()

    @property
    def is_as_before(self) -> bool:
        """Whether it breaks lines and shows text as a shell expects it."""
        return self._wraps and not self.is_dim

    def _put(self, char: str) -> None:
        if char == "\n":
            self._down()
        elif char == "\r":
            self._column = 0
        elif char == "\t":
            self._column = min(self._columns - 1, (self._column // 8 + 1) * 8)
        else:
            assert unicodedata.category(char) not in ("Cc", "Cf"), f"{char!r} at {self.text[-200:]!r}"
            self._show(char)

    def _show(self, char: str) -> None:
        width = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self._column + width > self._columns:
            if not self._wraps:
                return
            self._column = 0
            self._down()
        line = self._lines[self._row]
        line += [" "] * (self._column + width - len(line))
        line[self._column : self._column + width] = [char, *[""] * (width - 1)]
        self._column += width

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append([])
        self._top = max(self._top, self._row - self._height + 1)

    def _obey(self, number: str, code: str) -> None:
        line = self._lines[self._row]
        match number, code:
            case "?7", "l" | "h":
                self._wraps = code == "h"
            case "", "K":
                del line[self._column :]
            case "", "J":
                del line[self._column :]
                del self._lines[self._row + 1 :]
            case (("2" | "0"), "m"):
                self.is_dim = number == "2"
            case count, "A":
                assert self._row - int(count) >= self._top, "the block has left the screen"
                self._row -= int(count)
            case _:
                raise AssertionError(f"an unknown code: {number}{code}")
