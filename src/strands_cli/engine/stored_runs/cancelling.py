"""Cancels a stored run for good."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from strands_cli.errors import RunRecordError, UsageError

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Clock
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal
    from strands_cli.events import RunStatus

STOP_S = 15.0


def cancel_run(store: RunStore, run_id: str, clock: Clock) -> None:
    """Stop the process of a run, if there is one, and record that the run is cancelled.

    Raises:
        UsageError: The run has ended.
        RunRecordError: Its process cannot be asked to end, or does not end.
    """
    with contextlib.closing(_stopped(store, run_id, clock)) as journal:
        _require_unended(run_id, journal.get("status"))  # it may have completed before it was asked to stop
        journal.put(status="cancelled", reason="a person cancelled it", ended_at=clock.now())


def _stopped(store: RunStore, run_id: str, clock: Clock) -> StoredJournal:
    """Return the journal of a run, held; a run that moves between workers is stopped wherever it is."""
    end = clock.monotonic() + STOP_S
    while True:
        status = store.read(run_id).status
        _require_unended(run_id, status)
        if status == "running":
            store.stop(run_id, STOP_S)
        try:
            return store.open(run_id)
        except RunRecordError:
            # A worker has taken it meanwhile, and has not begun or has just begun.
            if status not in ("queued", "running", "interrupted") or clock.monotonic() > end:
                raise
        store.stop(run_id, STOP_S)


def _require_unended(run_id: str, status: RunStatus) -> None:
    if status in ("completed", "cancelled"):
        raise UsageError(f"the run {run_id} is {status}", fix="there is nothing to cancel")
