"""What the entry point `dbos` of the group `strands_cli.engines` names. DBOS is imported when a method needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.api import Engine, RunQueue, Station, StorePlace


class DbosEngine:
    """Implements `Engine`: the queues are tables of DBOS in the database of the store."""

    def open(self, place: StorePlace, address: str) -> RunQueue:
        """Open the queues of a store.

        Raises:
            RunRecordError: The store cannot be reached, or has no queues yet.
        """
        from strands_cli_workers.queue_database import QueueDatabase
        from strands_cli_workers.run_queue import DbosQueue

        return DbosQueue(QueueDatabase(place, address))

    def init(self, place: StorePlace, address: str) -> list[str]:
        """Create the tables of the queues, or bring them to this version."""
        from strands_cli_workers.dbos_setup import migrate
        from strands_cli_workers.queue_database import QueueDatabase
        from strands_cli_workers.queue_tables import TABLES

        database = QueueDatabase(place, address)
        with database.connect("strands queue") as connection, database.explained():
            migrate(database)
            database.rows(connection, TABLES)
        return [f"queues: the schema {database.schema} is as this version needs it"]

    def check(self, place: StorePlace, address: str) -> list[str]:
        """Return the facts of queues that work.

        Raises:
            RunRecordError: The store cannot be reached, or has no queues yet.
        """
        queue = self.open(place, address)
        try:
            states, workers = queue.states(), queue.workers()
        finally:
            queue.close()
        alive = sum(worker.is_alive for worker in workers)
        return [f"queues: {len(states)}, with {sum(one.waiting for one in states)} waiting; workers: {alive}"]

    def station(
        self, place: StorePlace, address: str, name: str, queues: Sequence[str], concurrency: int, version: str
    ) -> Station:
        """Open the place of a worker at these queues, and lock its id.

        Raises:
            RunRecordError: The store cannot be reached, or has no queues yet.
        """
        from strands_cli_workers.queue_database import QueueDatabase
        from strands_cli_workers.station import DbosStation

        return DbosStation(QueueDatabase(place, address), name, queues, concurrency, version)


ENGINE: Engine = DbosEngine()
