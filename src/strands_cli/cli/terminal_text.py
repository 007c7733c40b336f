"""Text for a person at a terminal: rows broken between words, and colours; everywhere else it is unchanged."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TextIO

from strands_cli.texts.unicode_safety import printable

# Text for a terminal: columns aligned, lines cut or broken between words.


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
            index = max(range(len(widths)), key=lambda number: widths[number] - least[number])
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
        breaks_words: Whether a word longer than a row is broken; else it stays whole, as does a command, so
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


_RESET = "\x1b[0m"
BOLD, FAINT, RED, GREEN, YELLOW, CYAN = (f"\x1b[{code}m" for code in ("1", "2", "1;31", "32", "33", "36"))
# Where the text of a fix begins: no line of ours does, so no continuation there looks like one.
_CONTINUED = 7
# The mark before each line of a text from outside; its rows have it too.
_MARK = re.compile(r" *[|>] ")
_COLUMN = re.compile(r"(?<=\S) {2,}(?=\S)")
_LABEL = re.compile(r"(?:  )?[\w-][\w -]{0,14}: {1,}(?=\S)")
_STATUSES = {
    GREEN: "completed|done|ok|available|ready|reused|installed|allow|accepted",
    RED: "failed|FAILED|error|broken|conflict|denied|deny|damaged|blocked|missing",
    YELLOW: "waiting|needs-decision|interrupted|cancelled|stopped|running|queued|scheduled|warning|ask|unset",
}
_COLOUR_OF = {word: colour for colour, words in _STATUSES.items() for word in words.split("|")}
_WORDS = "|".join(sorted(_COLOUR_OF, key=len, reverse=True))
# The beginnings of our lines, each with the colour of its group `it`. Compiled at the first use, on a terminal.
_BEGINNINGS = [
    (r"(?P<it>(?:error(?:\[[a-z0-9-]+\])?|internal error):)", RED),
    (r"(?P<it>(?:warning(?:\[[a-z0-9-]+\])?|denied|failed|not accepted):)", YELLOW),
    (r"(?P<it>(?:waiting|waits):)", CYAN),
    (r"  (?P<it>--> .*)", FAINT),
    (r"  (?P<it>(?:fix|next):)", GREEN),
    (r"  (?P<it>done)  ", GREEN),
    (r"  (?P<it>FAILED) ", RED),
    (r"  (?P<it>(?:asks|retry)) ", YELLOW),
    (r"  (?P<it>start .*)", FAINT),
    (r"  tool  \S*  \S+  \((?P<it>ok)[,)]", GREEN),
    (r"  tool  \S*  \S+  \((?P<it>[a-z_]+)[,)]", RED),
    (r"(?P<it>completed) in ", GREEN),
    (r"(?P<it>failed) after ", RED),
    (r"(?P<it>(?:waiting|needs-decision|interrupted|cancelled)) after ", YELLOW),
    (r"run (?P<it>\S+):", BOLD),
    (r"(?P<it>[A-Z][a-z]+(?: [a-z]+){0,6})$", BOLD),
    (r"(?P<it>[A-Z][A-Z0-9-]*(?: [A-Z0-9-]+)*(?: {2,}[A-Z][A-Z0-9-]*(?: [A-Z0-9-]+)*)+)$", BOLD),
]
_STATUS = rf"(?:(?<=  )|^|(?<=^status:    ))(?P<it>{_WORDS})(?=  |$)"
_NAMED_COMMAND = r"(?P<it>`[^`]+`|(?<=: )(?:strands|pip|export) [^ ;][^;]*$)"


def columns_of(stream: TextIO) -> int | None:
    """Return how many columns the terminal at a stream has; None where there is none, or it shows plain text only."""
    if not _is_terminal(stream):
        return None
    text = os.environ.get("COLUMNS", "")
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows for stdout, each as one text: at a terminal of several lines where its cells do not fit."""
    columns = columns_of(sys.stdout)
    # Cells are made printable before they are measured.
    cells = rows if columns is None else [[printable(cell) for cell in row] for row in rows]
    return aligned(cells, columns)


def has_colours(stream: TextIO) -> bool:
    """Return whether text to a stream has colours: `NO_COLOR` forbids them, `FORCE_COLOR` wants them in a pipe too."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return os.environ.get("CLICOLOR") != "0" and _is_terminal(stream)


def _is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that understands control codes."""
    if os.environ.get("TERM", "dumb") == "dumb" and "WT_SESSION" not in os.environ:
        return False
    try:
        return stream.isatty()
    except ValueError:  # it is closed
        return False


def laid_out(text: str, stream: TextIO) -> str:
    """Return lines of ours, in which nothing is hidden and no secret left, as their stream shows them."""
    columns, coloured = columns_of(stream), has_colours(stream)
    if columns is None and not coloured:
        return text
    lines = []
    for line in text.split("\n"):
        rows = [line] if columns is None else wrapped(line, columns, _indent_of(line, columns), breaks_words=False)
        lines += [coloured_row(rows[0]), *(_spans(row) for row in rows[1:])] if coloured else rows
    return "\n".join(lines)


def coloured_row(row: str) -> str:
    """Return a line of ours with colours; one of a text from outside as it is."""
    if _MARK.match(row):
        return row
    for beginning, colour in _BEGINNINGS:
        if match := re.match(beginning, row):
            start, end = match.span("it")
            return f"{row[:start]}{colour}{row[start:end]}{_RESET}{_spans(row[end:])}"
    return _spans(re.sub(_STATUS, lambda match: f"{_COLOUR_OF[match['it']]}{match['it']}{_RESET}", row))


def _spans(row: str) -> str:
    return row if _MARK.match(row) else re.sub(_NAMED_COMMAND, lambda match: f"{BOLD}{match['it']}{_RESET}", row)


def _indent_of(line: str, columns: int) -> str:
    """Return the indent of the second row of a line and those after it: its mark, or spaces up to its last column."""
    if mark := _MARK.match(line):
        return mark[0]
    starts = [match.end() for match in _COLUMN.finditer(line) if match.end() <= columns // 2]
    label = _LABEL.match(line)
    leading = len(line) - len(line.lstrip(" "))
    return " " * max(_CONTINUED, len(label[0]) if label else 0, leading, *starts)
