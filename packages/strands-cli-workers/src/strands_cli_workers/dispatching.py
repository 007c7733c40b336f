"""Dispatch: a worker takes over the run of a ticket, plans it here, works on it, or gives it back."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.api import HoldLost, RunRecordError, StrandsCliError, WaitingForPerson
from strands_cli_workers.measures import UNMEASURED, Measures
from strands_cli_workers.names import first_of

if TYPE_CHECKING:
    from strands_cli.api import Plan, RunRequest, RunResult, RunStore, StoredJournal, Takeover
    from strands_cli_workers.queue_values import Ticket

# The status of a run whose store does not answer.
UNKNOWN = "unknown"
# How long a run that was given back waits, at first and at most. The same worker may get it again and give it back at
# little cost, so that it soon meets another one; only after some times it waits twice as long each time.
FIRST_DELAY_S, MOST_DELAY_S, QUICK_RETURNS = 1.0, 60.0, 8
# How long a run waits at most whose limit over time is spent: it may be raised meanwhile.
MOST_SPENT_DELAY_S = 600.0
# How long a worker does not plan a run again that it has refused.
REFUSED_S = 300.0
MOST_REFUSED = 10_000
EventName = Literal[
    "started",
    "dispatched",
    "finished",
    "lost",
    "returned",
    "refused",
    "recovered",
    "fired",
    "removed",
    "draining",
    "ended",
    "warning",
]


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """One thing that happened at a worker.

    Attributes:
        name: The kind.
        text: The line for a person.
        run_id: Its run; empty without one.
        facts: Further values for programs.
    """

    name: EventName
    text: str
    run_id: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


Report = Callable[[WorkerEvent], None]


@dataclass(frozen=True, slots=True)
class Work:
    """The common part of all dispatches.

    Attributes:
        name: The name of the worker, for people who read why it refused a run.
        takeover: Plans and continues its runs.
        notify: Sends the messages about a run when a dispatch has ended; returns a line for each that was not sent.
        measures: Counts the usage of this worker's runs.
    """

    name: str
    store: RunStore
    takeover: Takeover
    report: Report
    notify: Callable[[str], list[str]]
    measures: Measures = UNMEASURED


class Dispatcher:
    """Works on the runs of tickets; it never raises, so that the queue has nothing to repeat."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._refused: dict[str, tuple[float, str]] = {}
        self._running: dict[str, asyncio.Task[RunResult]] = {}
        self._is_stopping = False
        self._planning = asyncio.Lock()
        self._dispatches, self._idle = 0, asyncio.Event()
        self._idle.set()

    @property
    def measures(self) -> Measures:
        """The counters of this worker."""
        return self._work.measures

    @property
    def running(self) -> list[str]:
        """The runs at work now."""
        return sorted(self._running)

    def stop(self) -> None:
        """End the running runs, cleanly; they wait for another worker."""
        self._is_stopping = True
        for task in self._running.values():
            task.cancel()

    async def idle(self, most_s: float) -> None:
        """Return when no run is worked on, at the latest after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self._idle.wait()

    async def dispatch(self, ticket: Ticket) -> Ticket | None:
        """Work on a run until it ends or waits for a person; return the ticket with which it waits again."""
        self._dispatches += 1
        self._idle.clear()
        try:
            return await self._dispatch(ticket)
        except Exception as error:  # noqa: BLE001 - a fault of one run must not lose its ticket
            return self._given_back(ticket, f"{type(error).__name__}: {error}")
        finally:
            self._dispatches -= 1
            if not self._dispatches:
                self._idle.set()

    async def _dispatch(self, ticket: Ticket) -> Ticket | None:
        if self._is_stopping:
            return again(ticket, 0.0)
        if ticket.run_id in self._running:  # a second ticket of the run
            return None
        known_at, reason = self._refused.get(ticket.run_id, (0.0, ""))
        if reason and time.monotonic() - known_at < REFUSED_S:
            return self._returned(ticket, reason)
        began = time.monotonic()
        try:
            journal = await asyncio.to_thread(self._work.takeover.hold, self._work.store, ticket.run_id)
        except StrandsCliError as error:
            return self._given_back(ticket, f"{error.message}")
        if journal is None:
            return None
        try:
            planned = await self._planned(ticket, journal)
            if not isinstance(planned, tuple):
                return planned
            end = await self._work_on(ticket, journal, *planned)
        finally:
            await asyncio.to_thread(journal.close)  # it waits for a commit, and other runs go on meanwhile
        return await self._ended(ticket, end, began)

    async def _planned(self, ticket: Ticket, journal: StoredJournal) -> tuple[Plan, RunRequest] | Ticket:
        """Return the plan and the request of a run; its ticket if it cannot run here."""
        try:
            async with self._planning:
                return await asyncio.to_thread(self._work.takeover.plan, journal)
        except (StrandsCliError, OSError) as error:
            return self._refuse(ticket, journal, error)

    async def _work_on(
        self, ticket: Ticket, journal: StoredJournal, plan: Plan, request: RunRequest
    ) -> RunResult | BaseException:
        """Work on a run to its end, and return its result or its exception; its journal has how it ended."""
        run_id = ticket.run_id
        waited_s = max(0.0, time.time() - (journal.get("started_at") or 0.0))
        text, facts = f"works on {run_id}: {plan.spec.name}", {"age_s": round(waited_s, 3)}
        self._work.report(WorkerEvent("dispatched", text, run_id, facts))
        task = self._running[run_id] = asyncio.ensure_future(self._run(plan, request, journal))
        try:
            return await task
        except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - its journal has how it ended
            return raised
        finally:
            del self._running[run_id]
            with contextlib.suppress(OSError):
                request.beside.rmdir()  # only if it is empty

    async def _run(self, plan: Plan, request: RunRequest, journal: StoredJournal) -> RunResult:
        def warn(text: str) -> None:
            self._work.report(WorkerEvent("warning", f"{journal.run_id}: {text}", journal.run_id))

        return await self._work.takeover.resume(plan, request, journal, self._work.measures.take, warn)

    async def _ended(self, ticket: Ticket, end: RunResult | BaseException, began: float) -> Ticket | None:
        """Report how a dispatch has ended, and return the ticket with which the run waits again."""
        run_id = ticket.run_id
        status, reason = await asyncio.to_thread(self._status_of, run_id)
        if status == UNKNOWN and not isinstance(end, BaseException):
            status, reason = "completed", ""  # which was stored before the store was gone
        if status == "queued" and isinstance(end, StrandsCliError):
            # It has not begun: its tools or models could not be loaded here.
            return await asyncio.to_thread(self._refuse_again, ticket, end)
        if isinstance(end, asyncio.CancelledError) and self._is_stopping:
            self._work.report(WorkerEvent("returned", f"stopped {run_id}, which waits for another worker", run_id))
            return again(ticket, 0.0)
        if status == "interrupted" and (free_at := getattr(end, "free_at", None)) is not None:
            self._work.report(WorkerEvent("returned", f"{run_id} waits{_because(reason)}", run_id))
            return again(ticket, max(FIRST_DELAY_S, min(free_at - time.time(), MOST_SPENT_DELAY_S)))
        seconds = round(time.monotonic() - began, 3)
        loss = end.message if isinstance(end, HoldLost) and not end.is_asked else ""
        if loss or status == UNKNOWN:
            self._lost(run_id, loss or reason, seconds)
            # Unless another process has it already, it waits again: by the journal a second ticket is nothing.
            return again(ticket, FIRST_DELAY_S) if status in (UNKNOWN, "queued", "interrupted") else None
        facts: dict[str, Any] = {"status": status, "seconds": seconds}
        self._work.measures.finish(status, facts["seconds"])
        if reason and not isinstance(end, WaitingForPerson):
            facts["reason"] = reason
        files = [] if isinstance(end, BaseException) else [str(artifact["path"]) for artifact in end.artifacts]
        if files:
            facts["artifacts"] = files
        text = f"{run_id} is {status}{_because(reason)}{_wrote(files)}"
        self._work.report(WorkerEvent("finished", text, run_id, facts))
        for line in await asyncio.to_thread(self._work.notify, run_id):
            self._work.report(WorkerEvent("warning", line, run_id))
        return None

    def _lost(self, run_id: str, reason: str, seconds: float) -> None:
        """Report that the store does not let this worker work on a run any more; another one goes on with it."""
        self._work.measures.finish("interrupted", seconds)
        facts = {"reason": reason, "seconds": seconds}
        self._work.report(WorkerEvent("lost", f"has stopped {run_id}{_because(reason)}", run_id, facts))

    def _status_of(self, run_id: str) -> tuple[str, str]:
        try:
            run = self._work.store.read(run_id)
        except RunRecordError as error:
            return UNKNOWN, error.message
        return run.status, run.reason or ""

    def _refuse_again(self, ticket: Ticket, error: StrandsCliError) -> Ticket:
        """Refuse a run whose journal was closed when its tools could not be loaded."""
        try:
            with contextlib.closing(self._work.store.open(ticket.run_id)) as journal:
                return self._refuse(ticket, journal, error)
        except RunRecordError as record_error:
            return self._given_back(ticket, record_error.message)

    def _refuse(self, ticket: Ticket, journal: StoredJournal, error: StrandsCliError | OSError) -> Ticket:
        """Store why this worker does not run a run, and return its ticket for another one."""
        reason = _words_of(error)
        refusals = {**(journal.get("refusals") or {}), self._work.name: {"reason": reason, "at": time.time()}}
        with contextlib.suppress(RunRecordError):
            journal.put(refusals=dict(list(refusals.items())[-10:]), status="queued")
        if len(self._refused) >= MOST_REFUSED:
            self._refused.clear()
        self._refused[ticket.run_id] = time.monotonic(), reason
        self._work.report(WorkerEvent("refused", f"refuses {ticket.run_id}: {reason}", ticket.run_id))
        return self._returned(ticket, reason)

    def _returned(self, ticket: Ticket, reason: str) -> Ticket:
        refusals = {**ticket.refusals, self._work.name: reason}
        return again(replace(ticket, refusals=dict(list(refusals.items())[-10:])))

    def _given_back(self, ticket: Ticket, reason: str) -> Ticket:
        self._work.report(WorkerEvent("returned", f"cannot take {ticket.run_id}: {reason}", ticket.run_id))
        return again(ticket)


def again(ticket: Ticket, delay_s: float | None = None) -> Ticket:
    """Return the ticket with which a run waits once more.

    Args:
        delay_s: How long; None waits longer each time.
    """
    if delay_s is None:
        delay_s = min(MOST_DELAY_S, FIRST_DELAY_S * 2 ** min(max(0, ticket.returns - QUICK_RETURNS), 10))
    at = time.time() + delay_s if delay_s else None
    return replace(ticket, attempt=ticket.attempt + 1, returns=ticket.returns + 1, at=at)


def _because(reason: str) -> str:
    return f": {' '.join(reason.split())}" if reason else ""


def _wrote(files: list[str]) -> str:
    return f"; it wrote {first_of(files, 5)}" if files else ""


def _words_of(error: StrandsCliError | OSError) -> str:
    """Return why a run is refused, with the findings of severity error."""
    if isinstance(error, OSError):
        return f"its folder cannot be made: {error.strerror or error}"
    return " ".join(error.whole_message.split())
