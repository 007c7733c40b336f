"""Submit a run: its journal is stored as `queued`, with all that a worker needs, then its id is put in a queue."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from strands_cli import app
from strands_cli.engine.journal.empty_journal import FORMAT
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.run_start.new_journal import create_journal
from strands_cli.engine.run_start.run_facts import new_run_id
from strands_cli.errors import RunRecordError, StrandsCliError, UsageError
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
from strands_cli.planning.checks.environment import MISSING_MOUNT, UNKNOWN_PRICE
from strands_cli.planning.data_flow.secret_values import MISSING_SECRET
from strands_cli.planning.data_flow.telemetry_destination import NO_EXPORTER
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.provider_checks import MISSING_API_KEY, MISSING_EXTRA
from strands_cli.queues.queue_port import Schedule, Ticket
from strands_cli.workers.submitted.id_of_run import require_id
from strands_cli.workers.submitted.relocation import facts_to_move, moved_request, moved_workflow
from strands_cli.workers.submitted.scheduled_runs import SCHEDULED

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.events import RunStatus
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.queues.queue_port import RunQueue

# What the machine that submits may lack: the one that works must have it. Secrets do not travel.
OF_THE_WORKER = frozenset({MISSING_API_KEY, MISSING_EXTRA, MISSING_SECRET, MISSING_MOUNT, NO_EXPORTER, UNKNOWN_PRICE})
# Workers of another version do not take the tickets of this one.
VERSION = str(FORMAT)
_NOT_ENDED: dict[str, Any] = {"reason": None, "ended_at": None}


@dataclass(frozen=True, slots=True)
class Submitted:
    """A run that was submitted.

    Attributes:
        is_new: Whether it was not submitted before under this id.
        status: That of the run now.
    """

    run_id: str
    is_new: bool
    status: RunStatus


def submittable(planned: Plan, request: RunRequest) -> Plan:
    """Return a plan without findings about files that are here, whose findings about keys and extras are warnings.

    Raises:
        StrandsCliError: It cannot run anywhere.
        UsageError: Its artifacts would go to a place that only this machine has.
    """
    findings = tuple(
        replace(found, severity="warning") if found.code in OF_THE_WORKER else found
        for found in planned.findings
        if found.code != ARTIFACT_EXISTS  # the worker writes in a folder of its own
    )
    planned = replace(planned, findings=findings)
    require_runnable(planned)
    out = PurePath(request.out_dir)
    if out.is_absolute() or ".." in out.parts:
        raise UsageError(
            f"--out {request.out_dir} is a place of this machine, and a worker writes in a folder of its own",
            fix=f"name a folder below that: --out {out.name or 'artifacts'}",
        )
    return planned


def what_stays_here(planned: Plan, request: RunRequest) -> Iterator[str]:
    """Yield what the workflow uses and no journal stores, so that a worker has it only in its `--workspace`."""
    facts = _Facts(
        {
            "file": planned.file,
            "text": planned.text,
            "files": dict(planned.files),
            "base_dir": str(planned.base_dir),
            "packaged": planned.packaged,
            "inputs": dict(planned.inputs),
            "options": request.to_stored(),
            **facts_to_move(planned, request),
        }
    )
    nowhere = Path(planned.base_dir) / ".strands-nowhere"
    try:
        found = app.plan(moved_workflow(facts, nowhere), moved_request(facts, nowhere, {})).findings
    except StrandsCliError as error:
        found = error.findings
    known = {finding.message for finding in planned.findings}
    # The worker has its directories by other ways than keys and extras: in the folder that `--workspace` names.
    # It writes in a folder of its own, so that a file which is here is not in its way.
    elsewhere = OF_THE_WORKER - {MISSING_MOUNT} | {ARTIFACT_EXISTS}
    lacking = (
        finding.message.replace(f"{nowhere}{os.sep}", "")
        for finding in found
        if finding.severity == "error" and finding.code not in elsewhere and finding.message not in known
    )
    yield from dict.fromkeys(lacking)  # a tool of the workflow that a step names is found twice


class _Facts:
    """Facts that are in no journal yet."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts

    def get(self, name: str) -> Any:
        """Return one fact, or None."""
        return self._facts.get(name)


@dataclass(frozen=True, slots=True)
class Submission:
    """Submits runs of one plan, or of plans of its rows, to the queues of a store."""

    store: RunStore
    queue: RunQueue
    request: RunRequest

    def submit(self, planned: Plan, ticket: Ticket) -> Submitted:
        """Store a run and put it in its queue; the same id with the same plan is the same run.

        Args:
            ticket: Where it waits; without a `run_id` it gets one.

        Raises:
            UsageError: The id is that of another run, or is none.
            RunRecordError: The store or the queue cannot be written.
        """
        if given := ticket.run_id:
            require_id(given)
        ticket = replace(ticket, run_id=given or new_run_id(SystemClock()), version=VERSION, attempt=1)
        is_new = self._stored(planned, ticket, {"status": "queued"}, is_named=bool(given))
        if is_new or not self.queue.live([ticket.run_id]):
            self.queue.put(ticket)
        return Submitted(ticket.run_id, is_new, "queued" if is_new else self.store.read(ticket.run_id).status)

    def repeat(self, planned: Plan, ticket: Ticket, schedule: Schedule) -> Submitted:
        """Store a run as the pattern of those that a schedule starts.

        Raises:
            UsageError: The times are not valid, or the id is that of another run, or is none.
            RunRecordError: The store or the queue cannot be written.
        """
        require_id(schedule.name)
        ticket = replace(ticket, run_id=schedule.name, version=VERSION)
        facts = {"status": SCHEDULED, "schedule": {"cron": schedule.cron, "timezone": schedule.timezone}}
        is_new = self._stored(planned, ticket, facts, is_named=True)
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
        return Submitted(schedule.name, is_new, SCHEDULED)

    def _changed(self, run_id: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Store facts of a run that is there already, and return those that it had."""
        with contextlib.closing(self.store.open(run_id)) as journal:
            before = {name: journal.get(name) for name in facts}
            journal.put(**facts)
        return before

    def facts(self, planned: Plan) -> dict[str, Any]:
        """Return what another machine needs to know of a run besides its own facts."""
        return facts_to_move(planned, self.request)

    def _stored(self, planned: Plan, ticket: Ticket, facts: Mapping[str, Any], *, is_named: bool) -> bool:
        """Store the journal of a run, and return whether it is a new one."""
        further = {**self.facts(planned), "ticket": ticket.as_dict(), **facts}
        try:
            create_journal(self.store, planned, self.request, ticket.run_id, further=further).close()
        except RunRecordError:
            if not is_named or not self._is_same(planned, ticket.run_id, "schedule" in facts):
                raise
            return False
        return True

    def _is_same(self, planned: Plan, run_id: str, is_schedule: bool) -> bool:
        """Return whether a stored run is this one; False where there is none.

        Raises:
            UsageError: It is another one.
        """
        try:
            journal = self.store.open(run_id, hold=False)
        except RunRecordError:
            return False
        with contextlib.closing(journal):
            same = journal.get("plan_digest") == planned.digest and journal.get("ticket") is not None
            if same and (journal.get("schedule") is not None) == is_schedule:
                return True
        raise UsageError(f"there is a run {run_id} already, and it is another one", fix="choose another id, or omit it")
