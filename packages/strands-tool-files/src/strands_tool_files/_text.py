"""Text in files: which encoding, whether it is text at all, and one window of its lines."""

from __future__ import annotations

import codecs
import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from strands_tool_kit import ToolError

_SNIFF = 8_192
_PIECE = 65_536
_MAX_SKIPPED = 512 * 1024 * 1024
# Text encodings by name only: escapes and host names, slow or surprising on files.
_ODD = ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7", "undefined")
_BOMS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = {
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or office document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x1f\x8b": "gzip data",
    b"SQLite format 3": "an SQLite database",
    b"\x7fELF": "a program",
}
_ASCII = bytes(range(32, 127))
# A lone surrogate comes out of no decoder, so it marks exactly the places where bytes did not fit.
MARK = "\udfff"
HANDLER = "strands_tool_files.mark"


def _mark(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return MARK, error.end
    raise error


codecs.register_error(HANDLER, _mark)


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive lines of a text, and the known facts about the rest.

    `end_line` is the last line in it (`start_line - 1` if none); `has_more` whether anything follows;
    `is_cut` whether the byte cap ended it, `is_cut_in_line` in the middle of a line; `replaced` counts the
    places where U+FFFD replaces bytes that do not fit the encoding.
    """

    text: str
    start_line: int
    end_line: int
    has_more: bool
    is_cut: bool
    is_cut_in_line: bool
    replaced: int


def require_encoding(name: str) -> str:
    """Return the normalised name of a text encoding, or raise `invalid_input`."""
    try:
        info = codecs.lookup(name)
        if info.name in _ODD:
            raise LookupError(name)
        "".encode(name)
    except (LookupError, ValueError):
        # Another codec than a text encoding (base64, zlib) raises LookupError from encode.
        raise ToolError(
            "invalid_input", f"'{name[:40]}' is not a text encoding; use utf-8, utf-16, latin-1 ...", reason="encoding"
        ) from None
    return info.name


def detect_encoding(stream: IO[bytes], encoding_name: str | None) -> str:
    """Return the encoding to read with: the wanted one, else that of a byte-order mark, else UTF-8.

    Raises:
        ToolError: `invalid_input` when the content is not text.
    """
    head = stream.read(_SNIFF)
    stream.seek(0)
    encoding_of_mark = next((encoding for mark, encoding in _BOMS if head.startswith(mark)), None)
    encoding = require_encoding(encoding_name) if encoding_name else (encoding_of_mark or "utf-8")
    if encoding == "utf-8" and encoding_of_mark == "utf-8-sig":
        encoding = encoding_of_mark
    kind = next((words for magic, words in _MAGIC.items() if head.startswith(magic)), None)
    if kind or (
        b"\0" in head
        and not (_unit(encoding) > 1 and (_unit(encoding_of_mark or "") > 1 or _looks_wide(head, encoding)))
    ):
        raise ToolError("invalid_input", f"the file is {kind or 'binary'}, not text", reason="binary")
    if encoding_name and head and _unit(encoding_of_mark or "") == 1:
        _require_undisguised(head, encoding)
        if encoding in ("utf-16", "utf-32"):
            message = f"the file has no byte-order mark, so name {encoding}-le or {encoding}-be"
            raise ToolError("invalid_input", message, reason="encoding")
    return encoding


def _unit(encoding: str) -> int:
    """Return the bytes of the shortest character."""
    return 2 if encoding.startswith("utf-16") else 4 if encoding.startswith("utf-32") else 1


def _looks_wide(head: bytes, encoding: str) -> bool:
    """Return whether bytes without a byte-order mark are text of UTF-16 or UTF-32, and not binary data with zeros.

    At least half of the characters of such a text are of Latin script, and none of them is a zero.
    """
    unit = _unit(encoding)
    high = slice(0, unit - 1) if encoding.endswith("be") else slice(1, unit)
    characters = [head[start : start + unit] for start in range(0, len(head) - unit + 1, unit)]
    narrow = sum(not any(character[high]) for character in characters)
    return bytes(unit) not in characters and 2 * narrow >= len(characters)


def _require_undisguised(head: bytes, encoding: str) -> None:
    """Raise for plain text read in an encoding with other bytes for its letters.

    Neither a person nor a redactor of secrets would recognise the result, which is not the text.
    """
    if b"\0" in head or _ASCII.decode(encoding, "replace") == _ASCII.decode("ascii"):
        return
    with contextlib.suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(head)
        message = f"the file is text in UTF-8, and {encoding} would show other characters; omit the encoding"
        raise ToolError("invalid_input", message, reason="encoding")


def read_window(
    stream: IO[bytes], encoding: str, start: int, count: int | None, cap: int, require_time: Callable[[], None]
) -> Window:
    """Read `count` lines from line `start` (1-based), at most `cap` bytes of UTF-8, without translating line ends.

    Memory stays within about the limit for lines of any length.

    Raises:
        ToolError: `timeout` or `cancelled` from `require_time`; `invalid_input` when the window begins too far on.
    """
    text = io.TextIOWrapper(stream, encoding, errors=HANDLER, newline="\n")
    try:
        _skip(text, start - 1, require_time)
        raw, size = _lines(text, count, cap, require_time)
        is_cut = size > cap
        has_more = is_cut or bool(text.read(1))
    finally:
        text.detach()  # The stream stays its owner's to close.
    content = raw.replace(MARK, "\ufffd")
    window_text = _beginning(content, cap) if is_cut else content
    return Window(
        text=window_text,
        start_line=start,
        end_line=start - 1 + window_text.count("\n") + (not window_text.endswith("\n") and bool(window_text)),
        has_more=has_more,
        is_cut=is_cut,
        is_cut_in_line=is_cut and not window_text.endswith("\n"),
        replaced=raw[: len(window_text)].count(MARK),
    )


def _lines(text: io.TextIOWrapper, count: int | None, cap: int, require_time: Callable[[], None]) -> tuple[str, int]:
    """Return so many lines, or the text that just exceeds the cap, and its size in bytes of UTF-8."""
    pieces: list[str] = []
    size = lines = 0
    while (count is None or lines < count) and size <= cap:
        require_time()
        piece = text.readline(_PIECE)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece.encode("utf-8", "surrogatepass"))
        lines += piece.endswith("\n")
    return "".join(pieces), size


def _skip(text: io.TextIOWrapper, lines: int, require_time: Callable[[], None]) -> None:
    """Go past so many lines, or to the end."""
    skipped = 0
    while lines > 0:
        require_time()
        piece = text.readline(_PIECE)
        skipped += len(piece)
        if not piece:
            return
        if skipped > _MAX_SKIPPED:
            raise ToolError("invalid_input", "the lines asked for begin too far into the file", reason="too-large")
        lines -= piece.endswith("\n")


def _beginning(text: str, cap: int) -> str:
    """Return the whole lines that fit into so many bytes of UTF-8, or a part of the first line if none does."""
    fitting = text.encode("utf-8")[:cap].decode("utf-8", "ignore")
    whole = fitting[: fitting.rfind("\n") + 1]
    return whole or fitting
