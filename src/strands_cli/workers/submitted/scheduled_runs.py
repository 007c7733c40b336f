"""Runs of a schedule: each firing copies the run that was stored for it, once, whatever the number of workers."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from strands_cli.errors import RunRecordError
from strands_cli.queues.queue_port import Ticket

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal
    from strands_cli.events import RunStatus

SCHEDULED: RunStatus = "scheduled"
# The facts of a submitted run that are those of its plan; its id, status, time and ticket are its own.
COPIED = (
    *("workflow", "pattern", "file", "base_dir", "text", "files", "directory", "inputs", "options", "models", "tools"),
    *("plan_digest", "packaged", "places", "variables", "secret_variables", "secret_files", "hides_personal_data"),
    *("folder", "lock", "of_others", "plan_key"),
)


def fired_run(store: RunStore, schedule: str, at: float) -> Ticket | None:
    """Store the run of one firing, and return its ticket; the same firing is the same run.

    None is returned where the stored run is gone, or is not for a schedule any more.

    Args:
        schedule: The id of the stored run that is the pattern of the others.
        at: The time of the firing, in seconds since the epoch.

    Raises:
        RunRecordError: The store cannot be reached.
    """
    if schedule not in store.with_status(SCHEDULED):
        return None
    with contextlib.closing(store.open(schedule, hold=False)) as journal:
        facts = {name: found for name in COPIED if (found := journal.get(name)) is not None}
        stored = journal.get("ticket")
    run_id = f"{schedule}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(at))}"
    ticket = Ticket.from_dict({**stored, "run_id": run_id, "attempt": 1})
    new: dict[str, Any] = {**facts, "id": run_id, "started_at": at, "scheduled_by": schedule}
    with contextlib.closing(_new_or_unbegun(store, run_id)) as journal:
        if journal.get("status") is None:
            journal.put(**new, status="queued", ticket=ticket.as_dict())
    return ticket


def _new_or_unbegun(store: RunStore, run_id: str) -> StoredJournal:
    """Return the journal of a run; it is held where it has no facts yet, since it is new or its process has died."""
    try:
        return store.create(run_id)
    except RunRecordError:
        journal = store.open(run_id, hold=False)
    if journal.get("status") is not None:
        return journal
    journal.close()
    return store.open(run_id)
