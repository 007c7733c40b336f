"""The place of one worker: DBOS hands it tickets, and the tickets of lost workers wait again."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

import psycopg
from dbos import DBOS

from strands_cli.api import RunRecordError, Unreachable
from strands_cli_workers import queue_tables as sql
from strands_cli_workers.claims import Claims
from strands_cli_workers.dbos_setup import POOL, configuration, pool_of, quiet
from strands_cli_workers.queue_database import KeptConnection, QueueDatabase
from strands_cli_workers.queue_log import QueueLog
from strands_cli_workers.queue_values import Ticket
from strands_cli_workers.run_queue import RunQueue, workflow_id
from strands_cli_workers.worker_lock import WorkerLock

# How long DBOS may take to store how the last dispatches ended; a dispatch that it has not stored by then is recovered.
END_S = 3.0
# How long a ticket waits until it is put in its queue again.
PUT_S = 1.0


class Handler(Protocol):
    """A station calls it in the event loop that it was started in."""

    async def dispatch(self, ticket: Ticket) -> Ticket | None:
        """Work on a run, and return the ticket with which it waits again; None if it does not."""

    async def fire(self, schedule: str, at: float) -> Ticket | None:
        """Make the run of one firing of a schedule, and return its ticket; the same firing is the same run."""

    def lost_lock(self, reason: str) -> None:
        """End the worker: it no longer holds its lock, so that others may take its runs. Called from any thread."""

    def say(self, line: str) -> None:
        """Take a line about the queue itself for the log, from any thread."""


class Station:
    """The place of one worker at its queues; a process has one at most, since DBOS keeps one instance.

    Attributes:
        id: The executor id that DBOS stores with each taken run, unique, and locked until `close`.

    Raises:
        RunRecordError: The store cannot be reached, or has no queues yet.
    """

    def __init__(
        self, database: QueueDatabase, name: str, queues: Sequence[str], concurrency: int, version: str
    ) -> None:
        self._database, self._queues, self._version = database, list(queues), version
        self._claims = Claims(queues, concurrency)
        with contextlib.ExitStack() as stack:
            self._queue = stack.enter_context(contextlib.closing(RunQueue(database)))
            self._lock = WorkerLock(database, name, queues, concurrency, version)
            self.id = self._lock.id
            stack.callback(self._lock.release)
            self._connection = KeptConnection(database, f"strands-recovery {self.id}")
            stack.pop_all()
        self._is_closed = threading.Event()
        self._pool = pool_of(database, POOL, self._is_closed)

    def start(self, handler: Handler, frozen_after_s: float | None = None) -> None:
        """Take tickets from now on, as many at once as the worker may; called in its event loop.

        Args:
            frozen_after_s: After how long without a `beat` others take its runs over; None never.
        """
        for name in self._queues:
            self._queue.require(name)
        self._claims.begin()
        DBOS(config=configuration(self._pool, self._database.schema, self.id, self._version))
        quiet().addHandler(QueueLog(handler.say))
        self._declare(handler)
        DBOS.listen_queues(self._queues)
        self._lock.watch(handler.lost_lock, frozen_after_s)
        DBOS.launch()

    def _declare(self, handler: Handler) -> None:
        """Declare the two workflows. They raise nothing: DBOS does not retry effects of our journal."""

        @DBOS.workflow(name=sql.DISPATCH, max_recovery_attempts=None)
        async def dispatch(values: dict[str, Any]) -> None:
            ticket = Ticket.from_dict(values)
            with self._claims.running(workflow_id(ticket)):
                again = await handler.dispatch(ticket)
                while again is not None and not self._is_closed.is_set():
                    try:
                        await asyncio.to_thread(self._queue.put, again)
                    except Unreachable:  # a ticket that is not put until the worker ends is recovered by another one
                        await asyncio.sleep(PUT_S)
                    else:
                        again = None
                if self._is_closed.is_set():
                    raise asyncio.CancelledError

        @DBOS.workflow(name=sql.FIRE, max_recovery_attempts=None)
        async def fire(scheduled_at: str, context: dict[str, str]) -> None:
            at = datetime.fromisoformat(scheduled_at).timestamp()
            if (ticket := await handler.fire(context["schedule"], at)) is not None:
                await asyncio.to_thread(self._queue.put, ticket)

    def beat(self) -> None:
        """Note that the event loop works; others see it within some seconds. It waits for nothing."""
        self._lock.beat()

    def recover(self) -> list[str]:
        """Let the runs of lost workers wait again; a frozen one is lost when its connections are ended."""
        recovered: list[str] = []
        for (frozen,) in self._rows(sql.FROZEN):
            if frozen != self.id:
                self._end_connections(frozen)
        with self._database.explained():
            for (worker,) in self._rows(sql.GONE):
                with self._connection.get().transaction():
                    recovered += self._recovered(worker)
            with self._connection.get().transaction():
                recovered += self._adopted()
        return list(dict.fromkeys(recovered))

    def _end_connections(self, frozen: str) -> None:
        runs = [run_id for _, _, run_id in self._rows(sql.LEFT_BEHIND, frozen) if run_id]
        try:
            self._connection.get().execute(self._database.named(sql.CUT), (frozen, runs))
        except psycopg.errors.InsufficientPrivilege:
            raise RunRecordError(
                f"the worker {frozen} is frozen and has another role, so that its connections cannot be ended",
                fix="GRANT pg_signal_backend TO the role of the workers, or end that process",
            ) from None
        except psycopg.Error as error:
            with self._database.explained():
                raise error

    def _recovered(self, worker: str) -> list[str]:
        """Let the tickets of one lost worker wait again. Its lock is held meanwhile, so that one process does it."""
        if self._rows(sql.TRY_WORK, worker) != [(True,)]:
            return []
        left = self._rows(sql.LEFT_BEHIND, worker)
        for ticket_id, queue, _ in left:
            DBOS.resume_workflow(ticket_id, queue_name=queue or None)
        self._rows(sql.FORGET_WORKER, worker)
        return [run_id for _, _, run_id in left if run_id]

    def _adopted(self) -> list[str]:
        """Make tickets for workers of older versions, of which none is left, tickets for this one."""
        if not self._version.isdecimal() or self._rows(sql.TRY_WORK, "adopts") != [(True,)]:
            return []
        adopted = []
        for ticket_id, values in self._rows(sql.OUTDATED, int(self._version)):
            DBOS.cancel_workflow(ticket_id)
            self._queue.put(Ticket.from_dict({**values, "version": self._version, "attempt": 0}))
            adopted.append(str(values["run_id"]))
        return adopted

    def pending(self) -> int:
        """Return how many tickets this worker could take now, or has taken."""
        return int(self._rows(sql.PENDING, self.id, self._queues, self._version, self._version)[0][0])

    def has_turn(self, work: str, every_s: float) -> bool:
        """Return whether no worker has had the turn for some work in so many seconds."""
        return bool(self._rows(sql.TAKE_TURN, work, every_s))

    def tidy(self) -> None:
        """Remove tickets that were done an hour ago."""
        with self._database.explained():
            DBOS.delete_workflows([row[0] for row in self._rows(sql.DONE)])

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.rows(statement, values)

    def pause(self) -> None:
        """Take no more tickets."""
        self._claims.pause()
        self._lock.mark_draining()

    def close(self) -> None:
        """Wait until DBOS has stored how dispatches ended, and give up the lock."""
        self._claims.pause()
        if not self._lock.is_lost:
            self._lock.mark_draining()
            with contextlib.suppress(RunRecordError):
                end = time.monotonic() + END_S
                while self._rows(sql.TAKEN, self.id) and time.monotonic() < end:
                    time.sleep(0.02)
        self._is_closed.set()  # later attempts of DBOS store nothing for an ended worker
        self._pool.dispose()
        DBOS.destroy(destroy_registry=True)
        self._claims.end()
        self._lock.release()
        self._queue.close()
        self._connection.close()
