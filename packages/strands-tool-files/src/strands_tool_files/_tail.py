"""The last lines of a text, read from the end backwards, so that the size of the file does not matter."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from typing import IO

from strands_tool_files._text import HANDLER, MARK
from strands_tool_kit import ToolError

_UNITS = {"utf-16": 2, "utf-32": 4}
_LONGEST_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a text, and the known facts about its beginning.

    `has_more` says whether there is text before it; `is_cut` whether the byte limit left lines out, `is_cut_in_line`
    within a line; `replaced` counts the places where U+FFFD replaces bytes that do not fit the encoding.
    """

    text: str
    has_more: bool
    is_cut: bool
    is_cut_in_line: bool
    replaced: int


def read_tail(stream: IO[bytes], encoding: str, lines: int, limit: int) -> Tail:
    """Read the last lines of a file, at most `limit` bytes of UTF-8, without translating line ends.

    Args:
        stream: The file, seekable.
        encoding: One of those that `detect_encoding` finds by itself.
        lines: The most lines to return; a last line without its end counts.
        limit: The most bytes of UTF-8; the lines furthest from the end give way.

    Raises:
        ToolError: `invalid_input` when the end of the file is not text.
    """
    raw, is_whole = _last_text(stream, encoding, limit)
    start = _start_of_last(raw, lines)
    tail = raw[start:]
    text = _end(tail.replace(MARK, "\ufffd"), limit)
    # A block shorter than the whole file exceeds the limit, so text from before it is never kept.
    is_cut = len(text) < len(tail)
    before = tail[: len(tail) - len(text)]
    return Tail(
        text=text,
        has_more=not is_whole or len(text) < len(raw),
        is_cut=is_cut,
        is_cut_in_line=is_cut and not before.endswith("\n"),
        replaced=tail[len(before) :].count(MARK),
    )


def _last_text(stream: IO[bytes], encoding: str, limit: int) -> tuple[str, bool]:
    """Return the end of the text, more than `limit` bytes of UTF-8 where there are more, and whether it is all.

    A character torn where the block begins lies within the text beyond the limit.
    """
    unit = _UNITS.get(encoding, 1)
    size = os.fstat(stream.fileno()).st_size
    start = max(0, size - (limit + 2 * _LONGEST_CHARACTER) * unit)
    start -= start % unit
    stream.seek(start)
    block = stream.read(size - start)
    if unit == 1 and b"\0" in block:
        raise ToolError("invalid_input", "the end of the file is binary, not text", reason="binary")
    if start == 0:
        return block.decode(encoding, HANDLER), True
    return block.decode(_without_mark(stream, encoding), HANDLER), False


def _without_mark(stream: IO[bytes], encoding: str) -> str:
    """Return the name of an encoding for bytes behind the byte-order mark."""
    if encoding not in _UNITS:
        return "utf-8"
    stream.seek(0)
    return f"{encoding}-{'le' if stream.read(2) == codecs.BOM_UTF16_LE else 'be'}"


def _start_of_last(text: str, lines: int) -> int:
    """Return where the last so many lines begin."""
    position = len(text) - text.endswith("\n")
    for _ in range(lines):
        position = text.rfind("\n", 0, position)
        if position < 0:
            return 0
    return position + 1


def _end(text: str, limit: int) -> str:
    """Return the whole lines at the end that fit into so many bytes of UTF-8, or the end of the last if none does."""
    encoded = text.encode("utf-8")
    if len(encoded) <= limit:
        return text
    is_line_start = encoded[-limit - 1 : -limit] == b"\n"
    fitting = encoded[-limit:].decode("utf-8", "ignore")
    return fitting if is_line_start else _from_a_line_start(fitting)


def _from_a_line_start(text: str) -> str:
    """Return the text after the first line end, or the text itself where nothing would follow."""
    first = text.find("\n")
    return text[first + 1 :] if 0 <= first < len(text) - 1 else text
