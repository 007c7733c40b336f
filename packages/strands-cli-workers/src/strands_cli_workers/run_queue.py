"""The queues of a store on DBOS: tickets in and out, limits, schedules, and numbers."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite
from typing import TYPE_CHECKING, Any

from strands_cli_workers import queue_tables as sql
from strands_cli_workers.queue_database import KeptConnection, QueueDatabase
from strands_cli_workers.queue_values import QueueLimits, QueueState, Schedule, Ticket, WorkerState

if TYPE_CHECKING:
    from dbos import DBOSClient
    from sqlalchemy import Engine


# How often a worker looks for a run when it has room. Each look is a transaction.
POLL_S = 0.2


def workflow_id(ticket: Ticket) -> str:
    """Return the id of DBOS's workflow for a ticket."""
    return f"{ticket.run_id}:{ticket.attempt}"


class RunQueue:
    """The queues of one store. DBOS takes most of a second to import, and only changes of a queue import it.

    All methods raise `RunRecordError` where the store cannot be reached.

    Raises:
        RunRecordError: The store has no queues yet.
    """

    def __init__(self, database: QueueDatabase) -> None:
        self._database = database
        self._dbos: DBOSClient | None = None
        self._pool: Engine | None = None
        self._known_queues: set[str] = set()
        self._connection = KeptConnection(database, "strands-queue")
        has_queues, has_beats = self._rows(sql.FORMAT)[0]
        if not (has_queues and has_beats):
            self._connection.close()
            raise database.without_queues(*(["has queues of an earlier version"] if has_queues else []))

    def put(self, ticket: Ticket) -> None:
        """Let a run wait in its queue; a ticket with the attempt of another one of the run changes nothing."""
        import time
        from dataclasses import replace

        client = self._client()
        with self._database.explained():
            self.require(ticket.queue)
            attempt = ticket.attempt or 1 + max(
                (ticket_row[2] or 0 for ticket_row in self._tickets_of(ticket.run_id)), default=0
            )
        numbered = replace(ticket, attempt=attempt)
        options: dict[str, Any] = {
            "workflow_name": sql.DISPATCH,
            "queue_name": ticket.queue,
            "workflow_id": workflow_id(numbered),
            "app_version": ticket.version,
            "priority": ticket.priority,
            "attributes": numbered.as_dict(),
        }
        if ticket.at is not None and (delay_s := ticket.at - time.time()) > 0:
            options["delay_seconds"] = delay_s
        with self._database.explained():
            client.enqueue(options, numbered.as_dict())  # type: ignore[arg-type]

    def take_out(self, run_id: str) -> bool:
        """Remove all tickets of a run, and return whether there was one."""
        with self._database.explained():
            waiting = [
                ticket[0] for ticket in self._tickets_of(run_id) if ticket[1] in ("ENQUEUED", "DELAYED", "PENDING")
            ]
        if waiting:
            self._client().cancel_workflows(waiting)
        return bool(waiting)

    def live(self, run_ids: Collection[str]) -> set[str]:
        """Return which of these runs have a ticket that waits, or that a worker has taken."""
        return {row[0] for row in self._rows(sql.LIVE, (list(run_ids),))}

    def limit(self, queue: str, limits: QueueLimits) -> None:
        """Set the limits of a queue, for all its workers."""
        limiter: Any = None
        if limits.rate is not None:
            limiter = {"limit": limits.rate, "period": limits.rate_s or 1.0}
        self._client().register_queue(
            queue, global_concurrency=limits.concurrency, limiter=limiter, polling_interval_sec=POLL_S
        )

    def states(self) -> list[QueueState]:
        """Return every queue in numbers, by name."""
        limits = {
            name: QueueLimits(concurrency, rate, period) for name, concurrency, rate, period in self._rows(sql.QUEUES)
        }
        numbers: dict[str, dict[str, Any]] = {name: {"versions": {}} for name in limits}
        names = {"ENQUEUED": "waiting", "PENDING": "running", "DELAYED": "delayed"}
        for queue, status, version, count, oldest_s in self._rows(sql.NUMBERS):
            facts = numbers.setdefault(queue, {"versions": {}})
            facts[names[status]] = facts.get(names[status], 0) + count
            if status == "ENQUEUED":
                facts["oldest_s"] = max(float(oldest_s), facts.get("oldest_s", 0.0))
                facts["versions"][version] = count
        return [QueueState(name, limits.get(name, QueueLimits()), **facts) for name, facts in sorted(numbers.items())]

    def refused(self, most: int) -> list[Ticket]:
        """Return tickets that wait after a refusal, the newest first."""
        return [Ticket.from_dict(row[0]) for row in self._rows(sql.REFUSED, (most,))]

    def workers(self) -> list[WorkerState]:
        """Return every worker that holds its lock or has left runs behind, the oldest first."""
        states = [_worker(*row) for row in self._rows(sql.WORKERS)]
        return [state for state in states if state.is_held or state.runs]

    def schedule(self, schedule: Schedule) -> None:
        """Fire again and again from now on; a schedule of this name is replaced.

        Raises:
            UsageError: The times or the time zone are not valid.
        """
        from strands_cli_workers.schedule_checks import require_times

        require_times(schedule)
        schedule_values: Any = {
            "schedule_name": schedule.name,
            "workflow_name": sql.FIRE,
            "schedule": schedule.cron,
            "cron_timezone": schedule.timezone,
            "context": {"schedule": schedule.name},
        }
        self._client().apply_schedules([schedule_values])

    def unschedule(self, name: str) -> bool:
        """Remove a schedule, and return whether there was one."""
        was_there = name in {schedule.name for schedule in self.schedules()}
        if was_there:
            self._client().delete_schedule(name)
        return was_there

    def schedules(self) -> list[Schedule]:
        """Return every schedule, by name."""
        return [Schedule(*row) for row in self._rows(sql.SCHEDULES)]

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()
        if self._dbos is not None and self._pool is not None:
            self._dbos.destroy()
            self._pool.dispose()

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        return self._connection.rows(statement, values)

    def _tickets_of(self, run_id: str) -> list[tuple[Any, ...]]:
        return self._rows(sql.TICKETS_OF, (run_id,))

    def require(self, name: str) -> None:
        """Make a queue that does not exist yet: a ticket for an unknown queue is never taken."""
        if name in self._known_queues:
            return
        self._client().register_queue(name, polling_interval_sec=POLL_S, on_conflict="never_update")
        self._known_queues.add(name)

    def _client(self) -> DBOSClient:
        if self._dbos is None:
            from strands_cli_workers.dbos_setup import client_of, pool_of

            self._pool = pool_of(self._database, 2)
            with self._database.explained():
                self._dbos = client_of(self._pool, self._database.schema)
        return self._dbos


def _worker(*row: Any) -> WorkerState:
    *facts, beat_s, frozen_after_s, is_draining, runs = row
    worker, name, machine, pid, queues, concurrency, version, since, is_held = facts
    beats = (beat_s, frozen_after_s if isfinite(frozen_after_s) else None)
    return WorkerState(
        worker,
        name,
        machine,
        pid,
        tuple(queues),
        concurrency,
        version,
        since,
        is_held,
        is_draining,
        tuple(runs),
        *beats,
    )
