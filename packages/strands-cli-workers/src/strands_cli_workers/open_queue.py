"""Open the queues of a store, and let a run wait in its queue again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from strands_cli.api import Runs, RunStore, StoredJournal, StorePlace, UsageError
from strands_cli_workers.queue_values import NAME_A_STORE, Ticket

if TYPE_CHECKING:
    from strands_cli_workers.run_queue import RunQueue


@contextlib.contextmanager
def opened_queue(place: StorePlace) -> Iterator[tuple[RunStore, RunQueue]]:
    """Open a store with its queues.

    Raises:
        UsageError: The runs are in a directory, which one machine has, or no store has addresses of this form.
        NotEquipped: No plugin for the store is installed, or the store is of another kind.
        RunRecordError: The store cannot be reached, or has no queues yet.
    """
    if place.directory is not None:
        raise UsageError(f"the runs are in the directory {place}, and queues are in a database", fix=NAME_A_STORE)
    with Runs(place) as runs, contextlib.closing(queue_of(runs.store)) as queue:
        yield runs.store, queue


def queue_of(store: RunStore) -> RunQueue:
    """Return the queues of a store.

    Raises:
        NotEquipped: The store is of another kind.
        RunRecordError: It cannot be reached, or has no queues yet.
    """
    # The client of the database and DBOS are imported when they are used.
    from strands_cli_workers.queue_database import QueueDatabase
    from strands_cli_workers.run_queue import RunQueue

    return RunQueue(QueueDatabase(store))


def wait_again(journal: StoredJournal) -> Ticket:
    """Store in a held run that it waits for a worker; return its ticket, for the queue when the run is not held."""
    stored = journal.get("ticket")
    journal.put(status="queued", reason=None, ended_at=None)
    return Ticket.from_dict({**stored, "run_id": journal.run_id, "attempt": 0, "at": None})
