"""Looks at the runs of rows that ended outside of their batch: those that a person has answered or resumed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from strands_cli.api import RunEnd, RunRecordError, journals_of

if TYPE_CHECKING:
    from strands_cli.api import RunStore, StoredJournal
    from strands_cli_batch.batch_journal import BatchJournal, BatchRow, RowOrder

# Of so many rows the journals are read at once: a store on another machine answers each question after a while.
ROWS_AT_ONCE = 500


def current(rows: Iterable[BatchRow], store: RunStore) -> Iterator[tuple[BatchRow, BatchRow]]:
    """Yield each row with the present state of its run's journal; an unreadable one stays as it is.

    Those that need no look at their journals may come before others.
    """
    batch_rows: list[BatchRow] = []
    for row in rows:
        run_end = row.outcome
        if not row.attempt or (run_end is not None and run_end.status in ("completed", "cancelled")):
            yield row, row
            continue
        batch_rows.append(row)
        if len(batch_rows) == ROWS_AT_ONCE:
            yield from _read(batch_rows, store)
            batch_rows = []
    yield from _read(batch_rows, store)


def _read(rows: list[BatchRow], store: RunStore) -> Iterator[tuple[BatchRow, BatchRow]]:
    for row, journal in zip(rows, journals_of(store, (row.run_id for row in rows)), strict=True):
        yield row, row if isinstance(journal, RunRecordError) else _current(row, journal)


def _current(row: BatchRow, journal: StoredJournal) -> BatchRow:
    run_end = row.outcome
    try:
        with contextlib.closing(journal):
            if journal.is_held():
                return row
            end = RunEnd.of(journal)
    except RunRecordError:
        return row
    if end.goes_on:
        end = dataclasses.replace(end, status="interrupted")
    is_same = run_end is not None and run_end.status == end.status and run_end.questions == end.questions
    # A killed process has not stored its usage.
    is_same = is_same and (not end.goes_on or run_end is None or _spent(run_end) == _spent(end))
    return row if is_same else dataclasses.replace(row, outcome=end)


def _spent(end: RunEnd) -> tuple[Any, ...]:
    return end.usage, end.cost_usd, end.steps, end.model_calls, end.tool_calls, round(end.seconds, 3)


async def collect(batch: BatchJournal, store: RunStore, order: RowOrder) -> None:
    """Store the changes of rows outside of this process."""
    for row, now in current((batch.row(digest) for digest in order.distinct()), store):
        if now is not row and now.outcome is not None:
            batch.end(row, now.outcome)
            await asyncio.sleep(0)  # lets the journal commit, so that many rows do not fill the memory
