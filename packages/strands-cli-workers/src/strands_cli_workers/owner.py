"""The queues of a store as the owner of their runs: the entry point `workers` of `strands_cli.owners`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from strands_cli.api import RunOwner, RunStore, StoredJournal
from strands_cli_workers.open_queue import opened_queue, queue_of, wait_again

if TYPE_CHECKING:
    from strands_cli_workers.queued_rows import QueuedRows


class Workers:
    """See `RunOwner`."""

    @property
    def rows(self) -> type[QueuedRows]:
        """The queues as strands-cli-batch hands rows to them."""
        from strands_cli_workers.queued_rows import QueuedRows

        return QueuedRows

    def wait_again(self, journal: StoredJournal, act: Callable[[], None]) -> str:
        """Let a held run wait in its queue again, and close its journal."""
        with opened_queue(journal.place) as (_, queue):
            act()
            ticket = wait_again(journal)
            journal.close()
            queue.put(ticket)
        return f"{ticket.run_id} waits in the queue {ticket.queue} for a worker"

    def leave(self, store: RunStore, run_id: str) -> None:
        """Take a run that was cancelled out of its queue, and a schedule of its name too."""
        with contextlib.closing(queue_of(store)) as queue:
            queue.take_out(run_id)
            queue.unschedule(run_id)

    def prepare(self, store: RunStore) -> list[str]:
        """Make the tables of the queues, or bring them to this version."""
        if not _can_have_queues(store):
            return []
        from strands_cli_workers.dbos_setup import make_tables
        from strands_cli_workers.queue_database import QueueDatabase

        database = QueueDatabase(store)
        make_tables(database)
        return [f"queues: the schema {database.schema} is as this version needs it"]

    def check(self, store: RunStore) -> list[str]:
        """Return how many queues and workers there are."""
        if not _can_have_queues(store):
            return []
        with contextlib.closing(queue_of(store)) as queue:
            states, workers = queue.states(), queue.workers()
        alive = sum(worker.is_alive for worker in workers)
        return [f"queues: {len(states)}, with {sum(state.waiting for state in states)} waiting; workers: {alive}"]


def _can_have_queues(store: RunStore) -> bool:
    return store.place.scheme in ("postgresql", "postgres")


WORKERS: RunOwner = Workers()
