"""A file of rows or standard input as lines of text, with bounds on its size and on the length of a row."""

from __future__ import annotations

import codecs
import io
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, get_args

from strands_cli.api import Code, Finding, InvalidInput, UsageError, Where

RowFormat = Literal["csv", "tsv", "jsonl"]
FORMATS: tuple[RowFormat, ...] = get_args(RowFormat)
FORMAT_OF: dict[str, RowFormat] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
STDIN = "-"
# How workbooks of spreadsheets begin, and their suffixes.
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_SUFFIXES_OF_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
_OF_WORKBOOK = "export it: in Excel, File > Save As > CSV UTF-8 (Comma delimited)"

MAX_BYTES = 256 * 1024 * 1024
MAX_ROWS = 100_000
MAX_ROW_CHARS = 10 * 1024 * 1024

BAD_ROW = Code(
    "bad-row",
    "A row has more or fewer cells than columns, a quote out of place, or is not an object of JSON.",
    "Correct the row.",
)
BAD_COLUMN = Code(
    "bad-column",
    "A column has no name or that of another one, or the wrong separators.",
    "Give each column the name of an input, separated by commas, or by tabs with `--format tsv`.",
)
ROWS_UNREADABLE = Code(
    "rows-unreadable",
    "A file of rows is not text in UTF-8.",
    "Convert it: iconv -f windows-1252 -t utf-8 ROWS > UTF8-ROWS.",
)
ROWS_TOO_LARGE = Code(
    "rows-too-large",
    "A file has more than 256 MB or 100,000 rows, or a row of more than 10 million characters.",
    "Split it into several batches.",
)


@dataclass(frozen=True, slots=True)
class GivenRow:
    """One row.

    Attributes:
        number: Its 1-based number among the rows; the header and empty lines do not count.
        line: The line where it begins.
        texts: Cells by column, to be converted to the types of inputs; an empty cell is absent.
        values: Values with types.
        place: Returns the place of a column of the row.
        written: The texts of those values that their JSON would spell otherwise (`1.10`).
    """

    number: int
    line: int
    texts: Mapping[str, str]
    values: Mapping[str, Any]
    place: Callable[[str], Where]
    written: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowSource:
    """Where rows come from: a name for findings, the bytes, and how to read them."""

    name: str
    stream: IO[bytes]
    format: RowFormat


def open_rows(source: str, chosen: str | None) -> RowSource:
    """Open a file of rows, or standard input for `-`.

    Args:
        source: The path.
        chosen: The format; without one the suffix of the file says it.

    Raises:
        UsageError: The file cannot be opened, or its format is not known.
        InvalidInput: The file is too large.
    """
    name = "<stdin>" if source == STDIN else source
    format_ = _format_of(source, chosen)
    if source == STDIN:
        return RowSource(name, sys.stdin.buffer, format_)
    try:
        stream = Path(source).open("rb")  # noqa: SIM115 - the caller reads it
        size = Path(source).stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the file of rows {source!r} cannot be read: {reason}", fix="check the path") from error
    if size > MAX_BYTES:
        stream.close()
        raise _too_large(Where(name), f"the file has {size / 1024**2:.0f} MB")
    return RowSource(name, stream, format_)


def _format_of(source: str, chosen: str | None) -> RowFormat:
    row_format = chosen or FORMAT_OF.get(Path(source).suffix.lower())
    for literal in FORMATS:
        if literal == row_format:
            return literal
    if Path(source).suffix.lower() in _SUFFIXES_OF_WORKBOOKS:
        raise UsageError(f"{source!r} is a workbook, and rows are CSV, text with tabs or JSON Lines", fix=_OF_WORKBOOK)
    fix = f"add --format csv, or one of: {', '.join(FORMATS)}"
    raise UsageError(f"the format of the rows in {source!r} is not known", fix=fix)


def _too_large(where: Where, subject: str) -> InvalidInput:
    message = f"{subject}; a batch has at most {MAX_BYTES // 1024**2} MB, {MAX_ROWS:,} rows, and 10 MB for one row"
    return InvalidInput("the file of rows is too large", findings=[Finding(ROWS_TOO_LARGE, message, where)])


class TextLines:
    """The lines of a source, each with its line end; line ends of every system count.

    Attributes:
        number: The 1-based number of the line that was read last.
    """

    def __init__(self, source: RowSource) -> None:
        self.name = source.name
        self.number = 0
        buffered = io.BufferedReader(_CountedStream(source.stream, source.name), 64 * 1024)
        begin = buffered.peek(4)[:4]
        if begin in _WORKBOOKS:
            finding = Finding(ROWS_UNREADABLE, "the file is a workbook, not text", self.where(1, 1), _OF_WORKBOOK)
            raise InvalidInput("the file of rows is not text in UTF-8", findings=[finding])
        # Excel writes "Unicode text" so. The error handler marks bytes of invalid UTF-8: their place is known then.
        is_wide = begin[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        encoding, errors = ("utf-16", "replace") if is_wide else ("utf-8-sig", "surrogateescape")
        self._text = io.TextIOWrapper(buffered, encoding, errors=errors, newline="")

    def __iter__(self) -> Iterator[str]:
        """Yield the lines.

        Raises:
            InvalidInput: The text is not UTF-8, has a NUL, or is too large.
        """
        while text := self._text.readline(MAX_ROW_CHARS + 1):
            self.number += 1
            if len(text) > MAX_ROW_CHARS:
                raise self.too_long(self.number)
            if not text.isascii() or "\0" in text:
                self._require_text(text)
            yield text

    def where(self, line: int, column: int | None = None, pointer: str = "") -> Where:
        """Return a place in the source."""
        return Where(self.name, line, column, pointer)

    def too_long(self, line: int) -> InvalidInput:
        """Return the error for a row that begins on this line."""
        return _too_large(self.where(line), f"a row has more than {MAX_ROW_CHARS:,} characters")

    def too_many(self) -> InvalidInput:
        """Return the error for the row that was read last."""
        return _too_large(self.where(self.number), f"there are more than {MAX_ROWS:,} rows")

    def _require_text(self, text: str) -> None:
        for column, char in enumerate(text, 1):
            if "\udc80" <= char <= "\udcff" or char == "\0":
                message, fix = _foreign(char, text, self.name)
                finding = Finding(ROWS_UNREADABLE, message, self.where(self.number, column), fix)
                raise InvalidInput("the file of rows is not text in UTF-8", findings=[finding])


def _foreign(char: str, text: str, name: str) -> tuple[str, str]:
    """Return the fault of a character of no text, and the command that converts the file."""
    file = "ROWS" if name == "<stdin>" else shlex.quote(name)
    new = f"UTF8{Path(name).suffix.lower() or '.csv'}"
    if char == "\0" and text[:200].count("\0") > 2:
        order = "be" if text.startswith("\0") else "le"
        return "the text is UTF-16, not UTF-8", f"convert it: iconv -f utf-16{order} -t utf-8 {file} > {new}"
    if char == "\0":
        return "the text has a NUL character", f"remove it: tr -d '\\000' < {file} > {new}"
    message = f"the text is not UTF-8: byte 0x{ord(char) - 0xDC00:02x}"
    return message, f"if a program of Windows wrote it: iconv -f windows-1252 -t utf-8 {file} > {new}"


class _CountedStream(io.RawIOBase):
    """The bytes of a stream, of which no more than the bound are read; it leaves the stream open."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name, self._count = stream, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        part = self._stream.read(len(view))
        view[: len(part)] = part
        self._count += len(part)
        if self._count > MAX_BYTES:
            raise _too_large(Where(self._name), f"there are more than {MAX_BYTES // 1024**2} MB")
        return len(part)
