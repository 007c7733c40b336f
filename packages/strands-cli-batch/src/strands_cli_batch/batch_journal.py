"""The journal of a batch: each row with its inputs and its outcome, and the order in which a file has the rows."""

from __future__ import annotations

import dataclasses
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.api import HIDE_NOTHING, Row, RunEnd, RunRecordError
from strands_cli_batch.batch_choices import BatchChoices
from strands_cli_batch.command_parts import PARTS

if TYPE_CHECKING:
    from strands_cli.api import Redactor, StoredJournal
    from strands_cli_batch.checked_rows import CheckedRows
    from strands_cli_batch.row_checks import CheckedRow

_Status = Literal["started", "done", "failed", "waiting"]
# The status of a row in the journal of the batch for that of its run; others are not done.
_STATUS: Mapping[str, _Status] = {
    "completed": "done",
    "failed": "failed",
    "cancelled": "failed",
    "waiting": "waiting",
    "needs-decision": "waiting",
}
_ROWS = "rows."
# The hexadecimal digits of a digest.
_DIGITS = 16
_ORDER = "order"
# How many rows one effect of the order has, and how many effects are committed together.
_PART, _AT_ONCE = 500, 256
# The facts that only the journal of a batch has.
CHOICES, SOURCE, CURRENT = "batch", "rows_file", "order"
_LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One row of a batch: rows with equal inputs are one.

    Attributes:
        run_id: The id of its run.
        inputs: The inputs that it gives.
        attempt: How often it was begun; 0 before the first time.
        began_at: When it was begun last.
        outcome: How its run ended, or how far it came; None before that.
    """

    digest: str
    run_id: str
    inputs: Mapping[str, Any]
    attempt: int = 0
    began_at: float = 0.0
    outcome: RunEnd | None = None

    @property
    def is_settled(self) -> bool:
        """Whether it has ended or waits for a person, so that the results have a line of it."""
        return self.outcome is not None and self.outcome.status in _STATUS


class RowOrder:
    """The rows of a file in their order: numbers, lines and digests, in a few bytes each."""

    def __init__(self) -> None:
        self._numbers, self._lines, self._digests = array("L"), array("L"), array("Q")
        self._first: dict[int, int] = {}  # the place of each digest
        self._further: dict[int, list[int]] = {}  # the other places of those that repeat

    def add(self, number: int, line: int, digest: str) -> None:
        """Add a row at the end."""
        value, position = int(digest, 16), len(self._digests)
        self._numbers.append(number)
        self._lines.append(line)
        self._digests.append(value)
        if self._first.setdefault(value, position) != position:
            self._further.setdefault(value, []).append(position)

    def __len__(self) -> int:
        return len(self._digests)

    def __getitem__(self, position: int) -> tuple[int, int, str]:
        """Return the number, the line and the digest of a row."""
        return self._numbers[position], self._lines[position], f"{self._digests[position]:0{_DIGITS}x}"

    def __contains__(self, digest: str) -> bool:
        return int(digest, 16) in self._first

    def distinct(self) -> Iterator[str]:
        """Yield each digest once, in the order in which they are first."""
        for value in self._first:
            yield f"{value:0{_DIGITS}x}"

    @property
    def count(self) -> int:
        """How many different rows there are."""
        return len(self._first)

    def places(self, digest: str) -> list[int]:
        """Return the places of a digest."""
        value = int(digest, 16)
        return [self._first[value], *self._further.get(value, ())]


class BatchJournal:
    """The content of a batch's journal, as values; the journal itself stays the caller's to close.

    Attributes:
        journal: The journal.
        id: The id of the batch.
    """

    def __init__(self, journal: StoredJournal, now: Callable[[], float] = time.time) -> None:
        self.journal, self._now = journal, now
        self.id = journal.run_id
        # Only outcomes go through it: inputs must stay as they were given, so that a row can be run with them.
        self.redactor: Redactor = HIDE_NOTHING

    @property
    def choices(self) -> BatchChoices:
        """How it runs."""
        return BatchChoices.from_stored(self.journal.get(CHOICES) or {})

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """The rows of the file that cannot be used and were left out, as lines of the results."""
        return list(self.journal.get(_LEFT_OUT) or ())

    def put_choices(self, choices: BatchChoices) -> None:
        """Store how it runs."""
        self.journal.put(**{CHOICES: choices.to_stored()})

    async def enter(self, rows: CheckedRows, source: str) -> None:
        """Store the rows of a file and their order; stored rows stay as they are.

        Args:
            rows: The rows.
            source: The name of the file, for people.
        """
        if rows.left_out != self.left_out:
            self.journal.put(**{_LEFT_OUT: rows.left_out})
        current = self.journal.get(CURRENT) or {}
        if current.get("digest") == rows.digest:
            return
        number = int(current.get("number") or 0) + 1
        part: list[list[Any]] = []
        index = pending = 0
        seen: set[int] = set()
        for row in rows:
            part.append([row.number, row.line, row.digest])
            if int(row.digest, 16) not in seen:
                seen.add(int(row.digest, 16))
                pending += self._note_new(row)
            if len(part) == _PART:
                await self._write_part(number, index, part)
                index, part, pending = index + 1, [], 0
            elif pending == _AT_ONCE:
                await self.journal.write(self._part(number, index, []))
                pending = 0
        await self._write_part(number, index, part)
        now = {"number": number, "digest": rows.digest, "rows": rows.count, "distinct": len(seen)}
        # Only now does the new order count: a process that dies before leaves the one before it.
        self.journal.put(**{CURRENT: now, SOURCE: source})

    def _note_new(self, row: CheckedRow) -> bool:
        key = f"{_ROWS}{row.digest}"
        if self.journal.row(key) is not None:
            return False
        self.journal.note(Row(key, "row", "started", row.digest, attempt=0, detail={"inputs": dict(row.inputs)}))
        return True

    async def _write_part(self, number: int, index: int, part: list[list[Any]]) -> None:
        await self.journal.write(self._part(number, index, part))

    def _part(self, number: int, index: int, part: list[list[Any]]) -> Row:
        return Row(f"{_ORDER}.{number}/{index}", "row", "done", "", output=part)

    def order(self) -> RowOrder:
        """Return the order of the rows.

        Raises:
            RunRecordError: The process that began the batch died before it had stored all rows.
        """
        current = self.journal.get(CURRENT)
        if current is None:
            raise RunRecordError(
                f"the batch {self.id} does not have its rows: the process that began it died before it had them all",
                fix="run the same `strands batch` command again",
            )
        order = RowOrder()
        for row in self.journal.rows("row", f"{_ORDER}.{current['number']}"):
            for number, line, digest in row.output:
                order.add(number, line, digest)
        return order

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows the file has, and how many different ones."""
        current = self.journal.get(CURRENT) or {}
        return int(current.get("rows") or 0), int(current.get("distinct") or 0)

    def row(self, digest: str) -> BatchRow:
        """Return a row.

        Raises:
            RunRecordError: There is no such row.
        """
        row = self.journal.row(f"{_ROWS}{digest}")
        if row is None:
            raise RunRecordError(f"the batch {self.id} has no row {digest}", fix="run the same command again")
        return self._read(row)

    def rows(self) -> Iterator[BatchRow]:
        """Yield all rows that the batch has ever had; `order` says which of them count."""
        for row in self.journal.rows("row"):
            if row.key.startswith(_ROWS):
                yield self._read(row)

    def _read(self, row: Row) -> BatchRow:
        digest = row.key.removeprefix(_ROWS)
        spent = {"usage": dataclasses.asdict(row.usage), "cost_usd": row.cost}
        outcome = RunEnd.from_dict({**row.output, **spent}) if row.output else None
        inputs = row.detail.get("inputs") or {}
        return BatchRow(digest, PARTS.id(self.id, digest), inputs, row.attempt, row.started_at, outcome)

    def begin(self, row: BatchRow) -> BatchRow:
        """Store that a row begins once more, and return it so."""
        begun = dataclasses.replace(row, attempt=row.attempt + 1, began_at=self._now())
        self._note(begun, row.outcome, "started", None)
        return begun

    def end(self, row: BatchRow, outcome: RunEnd) -> BatchRow:
        """Store how a row ended, or how far it came; return the row as it is stored, without secrets."""
        clean = RunEnd.from_dict(self.redactor.json(outcome.as_dict()))
        ended = dataclasses.replace(row, outcome=clean)
        self._note(ended, clean, _STATUS.get(clean.status, "started"), self._now())
        return ended

    def _note(self, row: BatchRow, outcome: RunEnd | None, status: _Status, ended_at: float | None) -> None:
        spent = outcome or RunEnd("interrupted")
        document = {} if outcome is None else outcome.as_dict()
        self.journal.note(
            Row(
                f"{_ROWS}{row.digest}",
                "row",
                status,
                row.digest,
                attempt=row.attempt,
                output={name: value for name, value in document.items() if name not in ("usage", "cost_usd")} or None,
                usage=spent.usage,
                cost=spent.cost_usd,
                started_at=row.began_at,
                ended_at=ended_at,
                detail={"inputs": dict(row.inputs)},
            )
        )
