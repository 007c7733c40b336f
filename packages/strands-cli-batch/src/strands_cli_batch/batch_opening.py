"""Opens the journal of a batch, to begin it or to continue it, and checks its limits before anything begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands_cli.api import RunRecordError, UsageError
from strands_cli_batch.batch_choices import DEFAULT_QUEUE, BatchChoices
from strands_cli_batch.batch_journal import BatchJournal
from strands_cli_batch.command_parts import PARTS

if TYPE_CHECKING:
    from strands_cli.api import PlannedRows, RunStore, StoredJournal


def open_batch(rows: PlannedRows, batch_id: str, store: RunStore, choices: BatchChoices) -> tuple[BatchJournal, bool]:
    """Open the journal of a batch, or make it; return it held, and whether it is new.

    Raises:
        RunRecordError: Another process works on the batch, or its journal cannot be used.
        UsageError: The batch was cancelled.
    """
    journal, is_new = _existing(store, batch_id), False
    if journal is None:
        journal, is_new = PARTS.create(rows, store, batch_id), True
    batch = BatchJournal(journal)
    try:
        _require_uncancelled(journal)
        batch.put_choices(choices)
    except BaseException:
        journal.close()
        raise
    return batch, is_new


def _existing(store: RunStore, batch: str) -> StoredJournal | None:
    """Return the journal of a batch, held; None if there is none."""
    try:
        store.read(batch)
    except RunRecordError:
        # It does not exist, its process died while it made it, or it cannot be read: then making it fails.
        return None
    return store.open(batch, hold=True)


def open_stored(store: RunStore, batch: str) -> BatchJournal:
    """Open the journal of a stored batch and hold it.

    Raises:
        RunRecordError: Another process works on the batch, or its journal cannot be used.
        UsageError: The batch was cancelled, or it is a run.
    """
    journal = store.open(batch, hold=True)
    try:
        if not PARTS.has(journal):
            raise UsageError(f"{batch} is a run, not a batch", fix=f"strands resume {batch}")
        _require_uncancelled(journal)
    except BaseException:
        journal.close()
        raise
    return BatchJournal(journal)


def _require_uncancelled(journal: StoredJournal) -> None:
    if journal.get("status") == "cancelled":
        raise UsageError(f"the batch {journal.run_id} was cancelled", fix="run all rows in a new batch: --again")


def _require_fitting(choices: BatchChoices) -> None:
    """Check that the choices have an effect on those who run the rows."""
    if choices.engine and choices.limits:
        raise UsageError(
            "--limit is for rows that run in one process, and workers run these",
            fix=f"limit the queue: strands workers queue limit {choices.queue} --rate 60/m",
        )
    if choices.queue != DEFAULT_QUEUE and not choices.engine:
        raise UsageError("--queue is for rows that workers run, and this process runs these", fix="add --engine dbos")


def require_runnable(rows: PlannedRows, choices: BatchChoices) -> None:
    """Check the workflow of a batch, and that it can run as it was chosen, before anything begins.

    Raises:
        UsageError: A limit names a provider that the workflow does not ask, or an option has no effect.
        StrandsCliError: It cannot run, or a limit on money has no prices.
    """
    findings = rows.check_limits(choices.budget, choices.limits)
    _require_fitting(choices)
    rows.require_runnable(findings)
