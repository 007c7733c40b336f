"""Looks at the runs of rows that ended outside of their batch: those that a person has answered or resumed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import TYPE_CHECKING

from strands_cli.batch.rows import RowOutcome, outcome_in, spent_in
from strands_cli.errors import RunRecordError

if TYPE_CHECKING:
    from strands_cli.batch.journal import BatchJournal, BatchRow, RowOrder
    from strands_cli.engine.ports import RunStore


def current(row: BatchRow, store: RunStore) -> BatchRow:
    """Return a row as the journal of its run describes it now; one that cannot be read stays as it is."""
    known = row.outcome
    if not row.attempt or (known is not None and known.status in ("completed", "cancelled")):
        return row
    try:
        with contextlib.closing(store.open(row.run_id, hold=False)) as journal:
            if journal.is_held():
                return row
            found = outcome_in(journal) or RowOutcome("interrupted", spent=spent_in(journal))
    except RunRecordError:
        return row
    is_same = known is not None and known.status == found.status and known.questions == found.questions
    # A process that was killed has not stored what it spent.
    is_same = is_same and (found.status != "interrupted" or known is None or known.spent == found.spent)
    return row if is_same else dataclasses.replace(row, outcome=found)


async def collect(batch: BatchJournal, store: RunStore, order: RowOrder) -> None:
    """Store what has become of rows outside of this process."""
    for digest in order.distinct():
        row = batch.row(digest)
        now = current(row, store)
        if now is not row and now.outcome is not None:
            batch.end(row, now.outcome)
            await asyncio.sleep(0)  # lets the journal commit, so that many rows do not fill the memory
