"""The place of one worker: DBOS hands it tickets, and what the workers that are gone have left waits again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dbos import DBOS

from strands_cli.errors import RunRecordError
from strands_cli.queues import Handler, Ticket
from strands_engine_dbos import queue_tables as sql
from strands_engine_dbos.claims import Claims
from strands_engine_dbos.connection import connected, explained
from strands_engine_dbos.dbos_setup import POOL, configuration, pool_of, quiet
from strands_engine_dbos.run_queue import DbosQueue, workflow_id
from strands_engine_dbos.worker_lock import LOCK, WorkerLock

if TYPE_CHECKING:
    import psycopg

    from strands_cli.store_place import StorePlace

# How long DBOS may take to store how the last dispatches ended; what it has not stored by then is recovered.
END_S = 3.0
# Makes way for another process that does the same work.
_ALONE = f"SELECT pg_try_advisory_xact_lock({LOCK.format('%s')})"


class DbosStation:
    """Implements `Station`; a process has one at most, since DBOS keeps one instance.

    Attributes:
        id: The executor id that DBOS stores with each run that is taken, unique and locked.
    """

    def __init__(
        self, place: StorePlace, address: str, name: str, queues: Sequence[str], concurrency: int, version: str
    ) -> None:
        self._place, self._address, self._queues, self._version = place, address, list(queues), version
        self._claims = Claims(queues, concurrency)
        self._queue = DbosQueue(place, address)
        self._lock = WorkerLock(place, address, name, queues, concurrency, version)
        self.id = self._lock.id
        self._pool = pool_of(address, POOL)
        with explained(place):
            self._connection: psycopg.Connection[Any] = connected(address, f"strands worker {self.id}, recovery")

    def start(self, handler: Handler) -> None:
        """Take tickets from now on."""
        for name in self._queues:
            self._queue.require(name)
        DBOS(config=configuration(self._pool, self.id, self._version))
        quiet().addHandler(_Lines(handler))
        self._declare(handler)
        DBOS.listen_queues(self._queues)
        self._claims.begin()
        self._lock.watch(handler.lost_lock)
        DBOS.launch()

    def _declare(self, handler: Handler) -> None:
        """Declare the two workflows. They raise nothing: DBOS does not retry what our journal has."""

        @DBOS.workflow(name=sql.DISPATCH, max_recovery_attempts=None)
        async def dispatch(values: dict[str, Any]) -> None:
            ticket = Ticket.from_dict(values)
            with self._claims.running(workflow_id(ticket)):
                again = await handler.dispatch(ticket)
                if again is not None:
                    await asyncio.to_thread(self._queue.put, again)

        @DBOS.workflow(name=sql.FIRE, max_recovery_attempts=None)
        async def fire(scheduled_at: str, context: dict[str, str]) -> None:
            at = datetime.fromisoformat(scheduled_at).timestamp()
            if (ticket := await handler.fire(context["schedule"], at)) is not None:
                await asyncio.to_thread(self._queue.put, ticket)

    def recover(self) -> list[str]:
        """Let the runs of workers that are gone wait again."""
        recovered: list[str] = []
        with explained(self._place):
            for (gone,) in self._connection.execute(sql.GONE).fetchall():
                with self._connection.transaction():
                    recovered += self._recovered(gone)
            with self._connection.transaction():
                recovered += self._adopted()
        return list(dict.fromkeys(recovered))

    def _recovered(self, gone: str) -> list[str]:
        """Let what one worker has left wait again. Its lock is held meanwhile, so that one process does it."""
        taken = self._connection.execute(_ALONE, (gone,)).fetchone()
        if taken is None or not taken[0]:
            return []
        left = self._connection.execute(sql.LEFT_BEHIND, (gone,)).fetchall()
        for one, queue, _ in left:
            DBOS.resume_workflow(one, queue_name=queue or None)
        self._connection.execute(sql.FORGET_WORKER, (gone,))
        return [run_id for _, _, run_id in left if run_id]

    def _adopted(self) -> list[str]:
        """Make tickets for workers of older versions, of which none is left, tickets for this one."""
        alone = self._connection.execute(_ALONE, ("adopts",)).fetchone() if self._version.isdecimal() else None
        if alone is None or not alone[0]:
            return []
        adopted = []
        for one, values in self._connection.execute(sql.OUTDATED, (int(self._version),)).fetchall():
            DBOS.cancel_workflow(one)
            self._queue.put(Ticket.from_dict({**values, "version": self._version, "attempt": 0}))
            adopted.append(str(values["run_id"]))
        return adopted

    def _connection_has(self, statement: str, value: str) -> bool:
        with explained(self._place):
            return self._connection.execute(statement, (value,)).fetchone() is not None

    def pending(self) -> int:
        """Return how many tickets this worker could take now, or has taken."""
        values = (self.id, self._queues, self._version, self._version)
        with explained(self._place):
            found = self._connection.execute(sql.PENDING, values).fetchone()
        return int(found[0]) if found else 0

    def tidy(self) -> None:
        """Remove tickets that were done an hour ago."""
        with explained(self._place), self._connection.transaction():
            alone = self._connection.execute(_ALONE, ("tidies",)).fetchone()
            if alone is not None and alone[0]:
                DBOS.delete_workflows([row[0] for row in self._connection.execute(sql.DONE).fetchall()])

    def pause(self) -> None:
        """Take no more tickets."""
        self._claims.pause()
        self._lock.mark_draining()

    def close(self) -> None:
        """Wait until DBOS has stored how dispatches ended, and give up the lock."""
        self.pause()
        with contextlib.suppress(RunRecordError):
            end = time.monotonic() + END_S
            while self._connection_has(sql.TAKEN, self.id) and time.monotonic() < end:
                time.sleep(0.02)
        DBOS.destroy()
        self._pool.dispose()
        self._claims.end()
        self._lock.release()
        self._queue.close()
        self._connection.close()


class _Lines(logging.Handler):
    """Passes what DBOS logs to the worker's own log, one line each."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(logging.WARNING)
        self._say = handler.say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage().splitlines()[0][:500])
