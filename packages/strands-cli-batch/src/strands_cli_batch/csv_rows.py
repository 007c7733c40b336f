"""Rows from CSV, and from text with tabs in place of commas."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from strands_cli.api import Finding, InvalidInput, Where, counted, shortened
from strands_cli_batch.row_findings import MOST_SHOWN, RowFindings
from strands_cli_batch.row_source import BAD_COLUMN, BAD_ROW, MAX_ROW_CHARS, GivenRow, TextLines

QUOTE = '"'
_SEPARATOR = re.compile(r'"?sep=([^\w\s"]|\t)"?\r?\n?', re.IGNORECASE)
# Reads cells between other separators, as spreadsheets write them where a comma is in numbers, and writes commas.
_CONVERT = """python3 -c 'import csv, sys; csv.writer(sys.stdout).writerows({})'"""
_FROM_SEMICOLONS = _CONVERT.format('csv.reader(sys.stdin, delimiter=";")')
_FROM_BARS = _CONVERT.format('[one.strip() for one in row] for row in csv.reader(sys.stdin, delimiter="|")')
_FROM_TABLE = _CONVERT.format(
    '[one.strip() for one in row.strip().strip("\\ufeff")[1:-1].split("|")]'
    ' for row in sys.stdin if row.strip("|-: \\n")'
)


class CsvRows:
    """The rows of a CSV text whose first row has the names of the columns.

    Attributes:
        columns: The names of the columns.
    """

    def __init__(self, lines: TextLines, findings: RowFindings, delimiter: str = ",") -> None:
        """Read the header.

        Raises:
            InvalidInput: It cannot be read, or its columns have no names or not different ones.
        """
        self._lines, self._findings, self._delimiter = lines, findings, delimiter
        self._parts: list[str] = []  # the lines of the present record
        csv.field_size_limit(MAX_ROW_CHARS)
        self._fed_lines = self._fed()
        self._records = csv.reader(self._fed_lines, strict=True, delimiter=delimiter)
        self.columns: tuple[str, ...] = ()
        self._header, self._first = "", 1
        # The line of a record and where its fields are: many findings can be about one.
        self._located: tuple[int, list[tuple[int, int]]] | None = None
        self._unnamed = 0  # columns without a name behind the others, which must be empty
        for record in self._each():
            if (separator := _SEPARATOR.fullmatch(self._raw[0])) is not None and self._raw[1] == 1:
                self._delimiter = separator[1]  # Excel's own word about the rest of the file
                self._records = csv.reader(self._fed_lines, strict=True, delimiter=self._delimiter)
                continue
            self.columns = _without_empty_end([name.strip() for name in record])
            self._unnamed = len(record) - len(self.columns)
            self._header, self._first = self._raw
            break
        self._require_delimiter()
        self._require_names()

    def place_of_column(self, name: str) -> Where:
        """Return where the header has a column."""
        return self._where(self._header, self._first, self.columns.index(name))

    def __iter__(self) -> Iterator[GivenRow]:
        """Yield the rows; a ragged one becomes a finding.

        Raises:
            InvalidInput: A quote is out of place, so that the rest cannot be read.
        """
        number = 0
        index = {name: position for position, name in enumerate(self.columns)}
        for record, raw, first in self._filled():
            number += 1
            behind = record[len(self.columns) :]
            if behind and not any(behind):
                record = record[: len(self.columns)]
            elif any(behind[: self._unnamed]):
                raise self._nameless(len(self.columns))
            if len(record) != len(self.columns):
                self._refuse_ragged(len(record), raw, first, number)
                continue
            texts = {name: cell for name, cell in zip(self.columns, record, strict=True) if cell}
            yield GivenRow(number, first, texts, {}, partial(self._place_in, raw, first, index))

    def _each(self) -> Iterator[Sequence[str]]:
        """Yield the non-empty records."""
        while True:
            self._parts.clear()
            try:
                record = next(self._records, None)
            except csv.Error as error:
                raise self._misquoted(error) from error
            if record is None:
                return
            if record:
                yield record

    def _filled(self) -> Iterator[tuple[Sequence[str], str, int]]:
        """Yield the records with their texts and lines, up to the last one with more than separators.

        Spreadsheets leave such rows at the end of a file.
        """
        empty: list[tuple[Sequence[str], str, int]] = []
        for record in self._each():
            if len(record) > 1 and not any(record):
                empty.append((record, *self._raw))
                continue
            yield from empty
            empty.clear()
            yield (record, *self._raw)

    def _fed(self) -> Iterator[str]:
        size = 0
        for text in self._lines:
            size = size + len(text) if self._parts else len(text)
            self._parts.append(text)
            if size > MAX_ROW_CHARS:
                raise self._lines.too_long(self._raw[1])
            yield text

    @property
    def _raw(self) -> tuple[str, int]:
        """The text of the record that was read last, and the line where it begins."""
        return "".join(self._parts), self._lines.number - len(self._parts) + 1

    def _require_delimiter(self) -> None:
        """Check that the header is not one column with separators of another format in it."""
        other = next((char for char in ";\t|," if char in self._header and char != self._delimiter), None)
        if len(self.columns) != 1 or other is None or QUOTE in self._header:
            return
        file = "ROWS" if self._lines.name == "<stdin>" else shlex.quote(self._lines.name)
        is_table = self._header.startswith("|")
        name, fix = {
            "\t": ("tabs", "say so: --format tsv"),
            ",": ("commas", "say so: --format csv"),
            ";": ("semicolons", f"write commas: {_FROM_SEMICOLONS} < {file} > COMMAS.csv"),
            "|": ("bars", f"write commas: {_FROM_TABLE if is_table else _FROM_BARS} < {file} > COMMAS.csv"),
        }[other]
        expected = "tabs" if self._delimiter == "\t" else "commas"
        message = f"the columns are separated by {name}, not by {expected}"
        where = self._where(self._header, self._first, 0)
        raise InvalidInput("the header cannot be used", findings=[Finding(BAD_COLUMN, message, where, fix)])

    def _require_names(self) -> None:
        seen: set[str] = set()
        findings: list[Finding] = []
        for position, name in enumerate(self.columns):
            if not name:
                findings += self._nameless(position).findings
            elif name in seen:
                where = self._where(self._header, self._first, position)
                message = f"two columns have the name '{shortened(name, 100)}'"
                findings.append(Finding(BAD_COLUMN, message, where))
            if len(findings) == MOST_SHOWN:
                break
            seen.add(name)
        if findings:
            raise InvalidInput("the header cannot be used", findings=findings)

    def _nameless(self, position: int) -> InvalidInput:
        where = self._where(self._header, self._first, position)
        finding = Finding(BAD_COLUMN, f"column {position + 1} has no name", where)
        return InvalidInput("the header cannot be used", findings=[finding])

    def _refuse_ragged(self, cell_count: int, raw: str, first: int, number: int) -> None:
        cells, columns = counted(cell_count, "cell"), counted(len(self.columns), "column")
        fix = "add or remove cells; a cell with a comma or a quote in it needs quotes around it"
        message = f"the row has {cells}, and the file has {columns}"
        self._findings.add_made(
            BAD_ROW, message, lambda: (self._where(raw, first, len(self.columns)), fix), (number, first)
        )

    def _misquoted(self, error: csv.Error) -> InvalidInput:
        raw, first = self._raw
        line, column = unclosed_quote(raw, first)
        message = "a quote is not closed" if "unexpected end" in str(error) else f"a quote is out of place: {error}"
        message += f" (in the row that begins in line {first})" if first != line else ""
        fix = 'double each quote inside a cell (""), and close each cell that begins with one'
        finding = Finding(BAD_ROW, message, self._lines.where(line, column), fix)
        return InvalidInput("the rows cannot be read", findings=[finding])

    def _where(self, raw: str, first: int, index: int) -> Where:
        if self._located is None or self._located[0] != first:
            self._located = first, list(field_places(raw, first, self._delimiter))
        places = self._located[1]
        return self._lines.where(*places[min(index, len(places) - 1)])

    def _place_in(self, raw: str, first: int, index: Mapping[str, int], name: str) -> Where:
        return self._where(raw, first, index[name]) if name in index else self._lines.where(first, 1)


def _without_empty_end(names: list[str]) -> tuple[str, ...]:
    """Return names of columns without the empty ones behind the last name, if any column has a name."""
    while len(names) > 1 and not names[-1]:
        names.pop()
    return tuple(names)


def field_places(raw: str, first: int, delimiter: str) -> Iterator[tuple[int, int]]:
    """Yield the line and column where each field of a record begins.

    Args:
        raw: The text of the record.
        first: The line where it begins.
        delimiter: The text between the fields.
    """
    line, column, is_quoted = first, 0, False
    yield first, 1
    for position, char in enumerate(raw):
        column += 1
        if char == QUOTE:
            is_quoted = not is_quoted
        elif char == delimiter and not is_quoted:
            yield line, column + 1
        elif char == "\n" or (char == "\r" and raw[position + 1 : position + 2] != "\n"):
            line, column = line + 1, 0


def unclosed_quote(raw: str, first: int) -> tuple[int, int]:
    """Return the line and column of the last quote of a record, the one out of place or not closed."""
    before = raw[: max(raw.rfind(QUOTE), 0)].replace("\r\n", "\n").replace("\r", "\n")
    return first + before.count("\n"), len(before) - before.rfind("\n")
