"""A submitted run waits for a worker again: after an answer, a larger limit, or a person's word."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli import app
from strands_cli.engine.run_start.run_facts import raised_budgets
from strands_cli.errors import NotEquipped
from strands_cli.queues.engine_choice import queue_at
from strands_cli.queues.queue_port import Ticket
from strands_cli.workers.submitted.relocation import moved_request, moved_workflow
from strands_cli.workers.submitted.scheduled_runs import SCHEDULED

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal


def is_submitted(journal: StoredJournal) -> bool:
    """Return whether a worker continues a run: it was submitted, and has not ended for good."""
    return journal.get("ticket") is not None and journal.get("status") not in ("completed", "cancelled", SCHEDULED)


def wait_again(journal: StoredJournal) -> Ticket:
    """Store in a held run that it waits for a worker; return its ticket, for the queue when the run is not held."""
    stored = journal.get("ticket")
    journal.put(status="queued", reason=None, ended_at=None)
    return Ticket.from_dict({**stored, "run_id": journal.run_id, "attempt": 0, "at": None})


def leave_queue(store: RunStore, run_id: str) -> None:
    """Take a run that was cancelled out of its queue; where no engine is installed, workers leave it alone too.

    Raises:
        RunRecordError: The store cannot be reached.
    """
    with contextlib.closing(store.open(run_id, hold=False)) as journal:
        ticket = journal.get("ticket")
    if ticket is None:
        return
    with contextlib.suppress(NotEquipped), contextlib.closing(queue_at(store.place)) as queue:
        queue.take_out(run_id)
        queue.unschedule(run_id)


def raise_limits(journal: StoredJournal, limits: Mapping[str, str]) -> None:
    """Store limits that were raised in a held run; a worker applies them.

    Raises:
        UsageError: There is no such limit, or it is not raised.
    """
    base = Path(journal.get("base_dir"))
    planned = app.plan(moved_workflow(journal, base), moved_request(journal, base, {}))
    raised_budgets(planned, journal, limits)
