"""Submit a run: its journal is stored as `queued`, with all that a worker needs, then its id is put in a queue."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from strands_cli.api import Handover, RunRecordError, UsageError
from strands_cli_workers.names import require_id
from strands_cli_workers.queue_values import OWNER, Schedule, Ticket

if TYPE_CHECKING:
    from strands_cli.api import Plan, RunRequest, RunStatus, RunStore, StoredJournal
    from strands_cli_workers.run_queue import RunQueue

SCHEDULED: RunStatus = "scheduled"
_NOT_ENDED: dict[str, Any] = {"reason": None, "ended_at": None}


def submittable(plan: Plan, request: RunRequest) -> Handover:
    """Return a run for workers; `Handover.of` does without a plan.

    Raises:
        StrandsCliError: It cannot run anywhere.
        UsageError: Its artifacts would go to a place that only this machine has.
    """
    return Handover(plan, request, OWNER)


@dataclass(frozen=True, slots=True)
class SubmittedRun:
    """A run that was submitted.

    Attributes:
        is_new: Whether it was not submitted before under this id.
        status: That of the run now.
    """

    run_id: str
    is_new: bool
    status: RunStatus


@dataclass(frozen=True, slots=True)
class Submission:
    """Submits runs to the queues of a store."""

    store: RunStore
    queue: RunQueue

    def submit(self, run: Handover, ticket: Ticket) -> SubmittedRun:
        """Store a run and put it in its queue; the same id with the same plan is the same run.

        Args:
            ticket: Where it waits; without a `run_id` it gets one.

        Raises:
            UsageError: The id is that of another run, or is none.
            RunRecordError: The store or the queue cannot be written.
        """
        if ticket.run_id:
            require_id(ticket.run_id)
        ticket = replace(ticket, version=run.version, attempt=1)
        run_id, is_new = self._stored(run, ticket, {"status": "queued"})
        ticket = replace(ticket, run_id=run_id)
        if is_new or not self.queue.live([ticket.run_id]):
            self.queue.put(ticket)
        return SubmittedRun(ticket.run_id, is_new, "queued" if is_new else self.store.read(ticket.run_id).status)

    def repeat(self, run: Handover, ticket: Ticket, schedule: Schedule) -> SubmittedRun:
        """Store a run as the pattern of those that a schedule starts.

        Raises:
            UsageError: The times are not valid, or the id is that of another run, or is none.
            RunRecordError: The store or the queue cannot be written.
        """
        require_id(schedule.name)
        ticket = replace(ticket, run_id=schedule.name, version=run.version)
        facts = {"status": SCHEDULED, "schedule": {"cron": schedule.cron, "timezone": schedule.timezone}}
        _, is_new = self._stored(run, ticket, facts)
        # Before the first firing: a schedule whose stored run is cancelled is removed by the worker that it reaches.
        before = {} if is_new else self._changed(schedule.name, {**facts, "ticket": ticket.as_dict(), **_NOT_ENDED})
        try:
            self.queue.schedule(schedule)
        except UsageError:
            if is_new:
                self.store.delete(schedule.name)
            else:
                self._changed(schedule.name, before)
            raise
        return SubmittedRun(schedule.name, is_new, SCHEDULED)

    def _changed(self, run_id: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Store facts of an existing run, and return the earlier ones."""
        with contextlib.closing(self.store.open(run_id)) as journal:
            before = {name: journal.get(name) for name in facts}
            journal.put(**facts)
        return before

    def _stored(self, run: Handover, ticket: Ticket, facts: Mapping[str, Any]) -> tuple[str, bool]:
        """Store the journal of a run, and return its id, and whether it is a new one."""
        try:
            return run.store(self.store, ticket.run_id, {"ticket": ticket.as_dict(), **facts}), True
        except RunRecordError:
            if not ticket.run_id or not self._is_same(run, ticket.run_id, "schedule" in facts):
                raise
            return ticket.run_id, False

    def _is_same(self, run: Handover, run_id: str, is_schedule: bool) -> bool:
        """Return whether a stored run is this one; False where there is none."""
        try:
            journal = self.store.open(run_id, hold=False)
        except RunRecordError:
            return False
        with contextlib.closing(journal):
            is_same = run.is_in(journal) and journal.get("ticket") is not None
            if is_same and (journal.get("schedule") is not None) == is_schedule:
                return True
        raise UsageError(f"there is a run {run_id} already, and it is another one", fix="choose another id, or omit it")


def fired_run(store: RunStore, schedule: str, at: float) -> Ticket | None:
    """Store the run of one firing, and return its ticket; the same firing is the same run.

    None is returned where the stored run is gone, or is not for a schedule any more.

    Args:
        schedule: The id of the stored run, the pattern of the others.
        at: The time of the firing, in seconds since the epoch.

    Raises:
        RunRecordError: The store cannot be reached.
    """
    if schedule not in store.with_status(SCHEDULED):
        return None
    with contextlib.closing(store.open(schedule, hold=False)) as journal:
        facts = Handover.facts_of_plan(journal)
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
