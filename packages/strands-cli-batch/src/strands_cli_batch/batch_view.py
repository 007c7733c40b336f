"""A stored batch as it is now, for those who look at it, and its end by a person's word."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.api import RunEnd, RunRecordError, StrandsCliError, UsageError
from strands_cli_batch.batch_choices import BatchChoices
from strands_cli_batch.batch_journal import SOURCE, BatchJournal
from strands_cli_batch.batch_tally import BatchTally
from strands_cli_batch.command_parts import PARTS
from strands_cli_batch.row_collection import collect, current

if TYPE_CHECKING:
    from strands_cli.api import RunStore, StoredRun
    from strands_cli_batch.batch_journal import BatchRow

MOST_WAITING = 20
STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class BatchView:
    """A stored batch.

    Attributes:
        run: Its entry in the list of runs.
        tally: The results of its rows.
        distinct: How many different rows it has.
        choices: How it runs.
        source: The name of its file of rows.
        waiting: The first rows that wait: `run` and `questions`, each with its commands.
    """

    run: StoredRun
    tally: BatchTally
    distinct: int
    choices: BatchChoices
    source: str
    waiting: list[Mapping[str, Any]] = field(default_factory=list)


def view_of(store: RunStore, batch: str) -> BatchView:
    """Return the present state of a batch, by its journal and the runs of unfinished rows.

    Raises:
        RunRecordError: It cannot be read.
        UsageError: It is a run.
    """
    with contextlib.closing(store.open(batch, hold=False)) as journal:
        if not PARTS.has(journal):
            raise UsageError(f"{batch} is a run, not a batch", fix=f"strands runs show {batch}")
        batch_journal = BatchJournal(journal)
        run, tally = PARTS.run(journal), BatchTally()
        view = BatchView(run, tally, batch_journal.counts[1], batch_journal.choices, str(journal.get(SOURCE) or ""))
        with contextlib.suppress(RunRecordError):  # the process died while it entered the rows
            order = batch_journal.order()
            tally.total = len(order)
            tally.left_out = len(batch_journal.left_out)
            for _, row in current((row for row in batch_journal.rows() if row.digest in order), store):
                _count(view, row, len(order.places(row.digest)))
        return view


def _count(view: BatchView, row: BatchRow, times: int) -> None:
    if row.outcome is None:
        return
    view.tally.spent = view.tally.spent.plus(row.outcome)
    if not row.is_settled:
        return
    view.tally.add(row.run_id, row.outcome, times)
    if row.outcome.questions and len(view.waiting) < MOST_WAITING:
        view.waiting.append({"run": row.run_id, "questions": row.outcome.questions})


def cancel(store: RunStore, batch: str) -> int:
    """Stop a batch for good; return how many of its different rows had not ended.

    Raises:
        UsageError: It is complete or cancelled, or it is a run.
        RunRecordError: The process that works on it does not end.
    """
    status = store.read(batch).status
    if status in ("completed", "cancelled"):
        raise UsageError(f"the batch {batch} is {status}", fix="there is nothing to cancel")
    if status == "running":
        store.stop(batch, STOP_S)
    with contextlib.closing(store.open(batch, hold=True)) as journal:
        if not PARTS.has(journal):
            raise UsageError(f"{batch} is a run, not a batch", fix=f"strands runs cancel {batch}")
        batch_journal = BatchJournal(journal)
        count = asyncio.run(_cancel_rows(batch_journal, store))
        journal.put(status="cancelled", reason="a person cancelled it", ended_at=time.time())
    return count


async def _cancel_rows(batch: BatchJournal, store: RunStore) -> int:
    try:
        order = batch.order()
    except RunRecordError:  # the process died while it entered the rows
        return 0
    await collect(batch, store, order)
    count = 0
    for digest in order.distinct():
        row = batch.row(digest)
        if row.outcome is not None and row.outcome.status in ("completed", "failed", "cancelled"):
            continue
        if row.attempt:
            with contextlib.suppress(StrandsCliError):  # it has no journal, or has ended meanwhile
                PARTS.cancel(store, row.run_id)
        batch.end(row, _cancelled(row.outcome))
        count += 1
        await asyncio.sleep(0)  # lets the journal commit
    return count


def _cancelled(end: RunEnd | None) -> RunEnd:
    """Return the end of a cancelled row, with the usage of its run."""
    if end is None:
        return RunEnd("cancelled")
    nothing = {"exit_code": 0, "error": None, "questions": (), "denied": (), "failures": (), "failed_calls": 0}
    return dataclasses.replace(end, status="cancelled", verdict=None, **nothing)  # type: ignore[arg-type]
