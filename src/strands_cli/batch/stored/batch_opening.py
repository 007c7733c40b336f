"""Opens the journal of a batch, to begin it or to continue it, and checks its limits before anything begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strands_cli import app
from strands_cli.batch.batch_choices import BatchChoices, providers_of
from strands_cli.batch.batch_journal import BatchJournal
from strands_cli.batch.stored.batch_identity import without_those_of_rows
from strands_cli.engine.effects.provider_limits import read_provider_limits
from strands_cli.engine.journal.batch_ids import BATCH, is_batch
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.run_start.corrected_workflow import stored_workflow
from strands_cli.engine.run_start.new_journal import create_journal
from strands_cli.engine.run_start.run_facts import require_same
from strands_cli.errors import Finding, RunRecordError, UsageError
from strands_cli.queues.queue_port import DEFAULT_QUEUE

if TYPE_CHECKING:
    from strands_cli.batch.stored.batch_identity import PlannedBatch
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest


def open_batch(found: PlannedBatch, store: RunStore, choices: BatchChoices) -> tuple[BatchJournal, bool]:
    """Open the journal of a batch, or make it; return it held, and whether it is new.

    Raises:
        RunRecordError: Another process works on the batch, or its journal cannot be used.
        UsageError: The batch was cancelled.
    """
    journal, is_new = _existing(store, found.id), False
    if journal is None:
        journal, is_new = create_journal(store, found.planned, found.request, found.id), True
    if not is_batch(journal):  # it is new, or its process was killed just before this
        journal.put(pattern=BATCH)
    batch = BatchJournal(journal, SystemClock())
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
        if not is_batch(journal):
            raise UsageError(f"{batch} is a run, not a batch", fix=f"strands resume {batch}")
        _require_uncancelled(journal)
    except BaseException:
        journal.close()
        raise
    return BatchJournal(journal, SystemClock())


def _require_uncancelled(journal: StoredJournal) -> None:
    if journal.get("status") == "cancelled":
        raise UsageError(f"the batch {journal.run_id} was cancelled", fix="run all rows in a new batch: --again")


def plan_stored(batch: BatchJournal, changes: Mapping[str, Any]) -> tuple[Plan, RowPlanner, RunRequest]:
    """Plan the workflow of a stored batch again, as it was planned when the batch began.

    Args:
        changes: Fields of `RunRequest` that replace the stored ones.

    Raises:
        StrandsCliError: This installation can no longer run it.
        RunRecordError: The plan differs from the one that the batch began with.
    """
    request, loaded = stored_workflow(batch.journal, changes)
    rows = app.plan_rows(loaded, request)
    planned = without_those_of_rows(rows.planned)
    require_same(planned, batch.journal)
    return planned, rows, request


def _require_fitting(choices: BatchChoices) -> None:
    """Check that what was chosen has an effect on those who run the rows.

    Raises:
        UsageError: It has none.
    """
    if choices.engine and choices.limits:
        raise UsageError(
            "--limit is for rows that run in one process, and workers run these",
            fix=f"limit the queue: strands queue limit {choices.queue} --rate 60/m",
        )
    if choices.queue != DEFAULT_QUEUE and not choices.engine:
        raise UsageError("--queue is for rows that workers run, and this process runs these", fix="add --engine dbos")


def check_choices(rows: RowPlanner, choices: BatchChoices) -> list[Finding]:
    """Return what prevents a batch from running as it is to run: a limit on money without prices.

    Raises:
        UsageError: A limit names a provider that the workflow does not ask, or an option has no effect.
    """
    read_provider_limits(choices.limits, providers_of(rows.planned))
    _require_fitting(choices)
    if "max_cost_usd" not in choices.budget:
        return []
    return list(rows.check_budgets(choices.budget))
