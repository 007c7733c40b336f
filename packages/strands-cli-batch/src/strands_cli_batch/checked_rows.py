"""All rows of a file, checked before any of them runs, and spooled so that they need not fit into the memory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from strands_cli.api import ArtifactError, Code, Finding, InvalidInput
from strands_cli_batch.csv_rows import CsvRows
from strands_cli_batch.json_line_rows import JsonLineRows
from strands_cli_batch.row_checks import CheckedRow, RowCheck
from strands_cli_batch.row_findings import RowFindings
from strands_cli_batch.row_source import BAD_ROW, MAX_ROWS, STDIN, GivenRow, RowSource, TextLines, open_rows

if TYPE_CHECKING:
    from strands_cli.api import PlannedRows

NO_ROWS = Code("no-rows", "A file of rows has none.", "Add rows below the header, or one object of JSON a line.")


class CheckedRows:
    """Checked rows, in a temporary file; each iteration yields all of them in their order.

    Attributes:
        count: How many there are.
        left_out: The unusable rows, as lines of the results.
        reported: The first findings about these.
        digest: A digest of all rows and their order.
    """

    def __init__(self) -> None:
        self._spool = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115 - closed by `close`
        self._hash = hashlib.sha256()
        self.count = 0
        self.left_out: list[dict[str, Any]] = []
        self.reported: list[Finding] = []

    def __enter__(self) -> CheckedRows:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file."""
        self._spool.close()

    @property
    def digest(self) -> str:
        """A digest of the rows, the lines and the order."""
        return self._hash.hexdigest()

    def add(self, row: CheckedRow) -> None:
        """Store a row.

        Raises:
            ArtifactError: The disk is full.
        """
        self.count += 1
        self._hash.update(f"{row.digest} {row.number} {row.line}\n".encode())
        with _spool_errors():
            self._spool.write(json.dumps([row.number, row.line, row.digest, dict(row.inputs)]) + "\n")

    def settle(self) -> None:
        """Write the buffered text.

        Raises:
            ArtifactError: The disk is full.
        """
        with _spool_errors():
            self._spool.flush()

    def __iter__(self) -> Iterator[CheckedRow]:
        """Yield the rows."""
        self._spool.seek(0)
        for line in self._spool:
            yield CheckedRow(*json.loads(line))


@contextlib.contextmanager
def _spool_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"the rows cannot be spooled in {tempfile.gettempdir()}: {error.strerror or error}"
        raise ArtifactError(message, fix="free disk space there, or name another directory: TMPDIR=DIR") from error


@dataclass(frozen=True, slots=True)
class RowsFile:
    """A file of rows, and how it is read.

    Attributes:
        path: Its path, or `-` for standard input.
        format: Its format, if the suffix does not say it.
        ignored: Columns besides the inputs.
        skips: Whether an unusable row is left out, if another one is usable.
    """

    path: str
    format: str | None = None
    ignored: Sequence[str] = ()
    skips: bool = False


def read_rows(file: RowsFile, workflow: PlannedRows) -> CheckedRows:
    """Return all rows of a file.

    Args:
        file: Which one, and how it is read.
        workflow: The workflow whose inputs they give.

    Raises:
        UsageError: The file cannot be opened, or its format is not known.
        InvalidInput: Some rows cannot be used; the findings have their places.
    """
    findings = RowFindings(skips=file.skips)
    rows = CheckedRows()
    source: RowSource | None = None
    try:
        source = open_rows(file.path, file.format)
        _read(source, RowCheck(workflow, findings, file.ignored), findings, rows)
        rows.left_out, rows.reported = list(findings.left_out.values()), findings.of_rows
        if not rows.count and rows.left_out and not findings.count:
            findings.add_all(rows.reported, len(rows.left_out))
        if not rows.count and not findings.count:
            findings.add(Finding(NO_ROWS, "there are no rows", TextLines(source).where(1)))
        findings.require_none(source.name)
        rows.settle()
    except BaseException:
        rows.close()
        raise
    finally:
        if source is not None and file.path != STDIN:
            source.stream.close()
    return rows


def _read(source: RowSource, check: RowCheck, findings: RowFindings, rows: CheckedRows) -> None:
    """Read and check all rows; a fault that makes the rest unreadable is the last finding."""
    lines = TextLines(source)
    try:
        for row in _given_rows(source, lines, check, findings):
            if row.number > MAX_ROWS:
                raise lines.too_many()
            checked = check.checked(row)
            if checked is not None and not findings.count:
                rows.add(checked)
        if all(finding.code != BAD_ROW for finding in findings.shown):  # else it may be in the unread part
            check.require_ignored(lines.where(1))
    except InvalidInput as error:
        for finding in error.findings:
            findings.add(finding)


def _given_rows(source: RowSource, lines: TextLines, check: RowCheck, findings: RowFindings) -> Iterator[GivenRow]:
    if source.format == "jsonl":
        yield from JsonLineRows(lines, findings)
        return
    rows = CsvRows(lines, findings, "\t" if source.format == "tsv" else ",")
    if rows.columns:
        check.require_columns(rows.columns, rows.place_of_column, lines.where(1))
        if findings.skips and findings.count:  # no row could be used
            return
    yield from rows
