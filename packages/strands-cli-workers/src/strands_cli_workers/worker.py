"""The life of a worker: take a place at the queues, work, keep the queues in order, and leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strands_cli.api import Handover, RunRecordError, StrandsCliError, Takeover, Unreachable
from strands_cli_workers.dispatching import Dispatcher, Report, Work, WorkerEvent
from strands_cli_workers.metrics import measured_worker
from strands_cli_workers.names import first_of
from strands_cli_workers.open_queue import queue_of
from strands_cli_workers.patience import patiently
from strands_cli_workers.process_end import STOP_S, ProcessEnd
from strands_cli_workers.queue_database import QueueDatabase
from strands_cli_workers.station import Station
from strands_cli_workers.stranded_runs import StrandedRuns
from strands_cli_workers.submission import fired_run
from strands_cli_workers.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from strands_cli.api import RunStatus, RunStore
    from strands_cli_workers.queue_values import Ticket, WorkerChoices
    from strands_cli_workers.run_queue import RunQueue

# How often a worker looks for runs of workers that are gone, for runs without a ticket, and for records to remove.
RECOVER_S, STRANDED_S, TIDY_S = 1.0, 15.0, 60.0
# How often it looks for folders of runs that were deleted, for which all runs of the store are listed.
FOLDERS_S = 3600.0
# How often a worker measures the store, and the runs that it counts: the unfinished ones.
NUMBERS_S = 5.0
MEASURED: tuple[RunStatus, ...] = ("queued", "running", "waiting", "needs-decision")
# How long a worker waits after the loss of its place before it takes another one.
PLACE_S = 1.0
# For how long the queues may refuse the work that keeps them in order, while the lock of the worker is well.
ORDER_S = 60.0
# How long one thread of a worker goes on while another one waits: that which commits must not wait behind the runs.
SWITCH_S = 0.0005


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """A worker's runs, and the parts that work on them.

    Attributes:
        report: Takes events, from any thread.
        notify: Sends the messages about a run when its dispatch has ended; returns a line for each that was not sent.
    """

    store: RunStore
    workspace: Workspace
    takeover: Takeover
    report: Report
    notify: Callable[[str], list[str]]

    def warn(self, line: str) -> None:
        """Report a problem without a run."""
        self.report(WorkerEvent("warning", line))


async def work(where: WorkPlace, choices: WorkerChoices) -> None:
    """Work until a signal, or with `drains` until the queues are empty.

    A worker that loses its place stops its runs, whose journals others continue, and takes a new one, with a new id.

    Raises:
        RunRecordError: The store cannot be used, or was not reached for so long.
    """
    loop = asyncio.get_running_loop()
    loop.set_default_executor(where.takeover.threads)
    sys.setswitchinterval(SWITCH_S)
    life = _Life(where, choices)
    end = ProcessEnd(choices.drain_timeout_s, lambda name: _call(loop, life.end, name), where.warn)
    with end.listening():
        while (loss := await life.work_once()) and not life.ended.is_set():
            # Others have these runs now.
            where.report(WorkerEvent("warning", f"the worker has lost its place, and takes a new one: {loss}"))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(life.ended.wait(), PLACE_S)


def _call(loop: asyncio.AbstractEventLoop, call: Callable[[str], None], name: str) -> None:
    loop.call_soon_threadsafe(call, name)


class _Life:
    """The places that one process has at its queues, one after another.

    Attributes:
        ended: Set when the process was asked to end.
    """

    def __init__(self, where: WorkPlace, choices: WorkerChoices) -> None:
        self._where, self._choices = where, choices
        self._worker: Worker | None = None
        self.ended = asyncio.Event()

    def end(self, reason: str) -> None:
        """End the worker, or the waiting for a place."""
        self.ended.set()
        if self._worker is not None:
            self._worker.end(reason)

    async def work_once(self) -> str:
        """Take a place and work there; return why it was lost, or nothing where the worker has ended."""
        where, choices = self._where, self._choices
        station = await patiently(self._station, choices.connect_timeout_s, where.warn, self.ended)
        if station is None:
            return ""
        try:
            loss = await self._work_at(station)
        except Unreachable as error:
            loss = error.message
        finally:
            self._worker = None
            await asyncio.to_thread(station.close)
        text = f"the worker {station.id} has ended"
        where.report(WorkerEvent("ended", text, "", {"lost": loss} if loss else {}))
        return loss

    def _station(self) -> Station:
        choices, database = self._choices, QueueDatabase(self._where.store)
        return Station(database, choices.name, choices.queues, choices.concurrency, Handover.version)

    async def _work_at(self, station: Station) -> str:
        where, choices = self._where, self._choices
        measured = contextlib.ExitStack()
        try:
            async with where.takeover.opened(station.id):
                measures = measured.enter_context(measured_worker(station.id, os.environ, where.warn))
                how = (where.takeover, where.report, where.notify, measures)
                dispatcher = Dispatcher(Work(choices.name, where.store, *how))
                with contextlib.closing(await asyncio.to_thread(queue_of, where.store)) as queue:
                    worker = Worker(where, choices, station, queue, dispatcher)
                    self._worker = worker
                    if self.ended.is_set():
                        return ""
                    await worker.work()
                    if worker.fault is not None:
                        raise RunRecordError(f"the worker cannot go on: {worker.lost}", fix="start it again")
                    return worker.lost
        finally:
            await asyncio.to_thread(measured.close)


class Worker:
    """One worker at its place.

    Attributes:
        lost: Why it may no longer work; empty as long as it may.
        fault: The error of this program that has ended it.
    """

    def __init__(
        self, where: WorkPlace, choices: WorkerChoices, station: Station, queue: RunQueue, dispatcher: Dispatcher
    ) -> None:
        self.lost = ""
        self.fault: BaseException | None = None
        self._where, self._choices, self._station = where, choices, station
        self._queue, self._dispatcher = queue, dispatcher
        self._loop = asyncio.get_running_loop()
        self._reason: asyncio.Future[str] = self._loop.create_future()
        self._stranded = StrandedRuns(where.store, queue)
        self._next: dict[str, float] = {}
        self._is_shown = True
        self._refused_since: float | None = None

    async def work(self) -> None:
        """Take tickets until there is a reason to end; then let running runs end in their time, and stop the rest."""
        queues = ", ".join(self._choices.queues)
        choices = self._choices
        facts = {"worker": self._station.id, "queues": [*choices.queues], "concurrency": choices.concurrency}
        self._station.start(self, choices.frozen_after_s)
        self._report(WorkerEvent("started", f"the worker {self._station.id} works on the runs of: {queues}", "", facts))
        upkeep = [asyncio.ensure_future(work) for work in (self._keep_order(), self._beat())]
        for task in upkeep:
            task.add_done_callback(self._kept)
        try:
            reason = await self._reason
        finally:
            upkeep[0].cancel()
        running = self._dispatcher.running
        text = f"takes no more runs: {reason}; works on {len(running)}"
        self._report(WorkerEvent("draining", text, "", {"reason": reason, "running": running}))
        await asyncio.to_thread(self._station.pause)
        await self._dispatcher.idle(0 if self.lost else self._choices.drain_timeout_s)
        self._dispatcher.stop()
        await self._dispatcher.idle(STOP_S)
        upkeep[1].cancel()

    async def _beat(self) -> None:
        """Show again and again that the event loop turns."""
        while True:
            self._station.beat()
            await asyncio.sleep(min(RECOVER_S, self._choices.frozen_after_s / 8))

    def end(self, reason: str) -> None:
        """Drain and end; asked again, stop the running runs."""
        if self._reason.done():
            self._dispatcher.stop()
        else:
            self._reason.set_result(reason)

    def lose(self, reason: str) -> None:
        """End at once, since others may take the runs."""
        self.lost = self.lost or reason
        self._dispatcher.stop()
        self.end(reason)

    # -- calls by the station

    async def dispatch(self, ticket: Ticket) -> Ticket | None:
        """Work on a run."""
        return await self._dispatcher.dispatch(ticket)

    async def fire(self, schedule: str, at: float) -> Ticket | None:
        """Make the run of one firing of a schedule; a schedule whose stored run is gone is removed."""
        ticket = await asyncio.to_thread(fired_run, self._where.store, schedule, at)
        if ticket is None:
            await asyncio.to_thread(self._queue.unschedule, schedule)
            self._report(WorkerEvent("warning", f"the schedule {schedule} is removed: its stored run is gone"))
            return None
        self._report(WorkerEvent("fired", f"the schedule {schedule} starts {ticket.run_id}", ticket.run_id))
        return ticket

    def lost_lock(self, reason: str) -> None:
        """End at once; called from any thread."""
        self._loop.call_soon_threadsafe(self.lose, reason)

    def say(self, line: str) -> None:
        """Report a line of the queue; called from any thread."""
        self._report(WorkerEvent("warning", line))

    # -- upkeep

    def _report(self, event: WorkerEvent) -> None:
        self._where.report(event)

    def _kept(self, upkeep: asyncio.Task[None]) -> None:
        if not upkeep.cancelled() and (error := upkeep.exception()) is not None:
            self.fault = None if isinstance(error, StrandsCliError) else error
            self.lose(error.message if isinstance(error, StrandsCliError) else f"{type(error).__name__}: {error}")

    async def _keep_order(self) -> None:
        """Keep order again and again. A refusal of the store is tried again: only a lost lock ends a worker."""
        while True:
            try:
                await self._keep_order_once()
            except RunRecordError as error:
                self._see_refused(error)
            else:
                self._refused_since = None
            await asyncio.sleep(RECOVER_S)

    def _see_refused(self, error: RunRecordError) -> None:
        now = time.monotonic()
        if self._refused_since is None:
            self._refused_since = now
            self._where.warn(f"the queues are not kept in order now: {error.message}")
        if now - self._refused_since > ORDER_S:
            raise error

    async def _keep_order_once(self) -> None:
        """Recover, find stranded runs and tidy up, each in its time; show that the worker is well."""
        await self._recover()
        if await self._has_turn("stranded", STRANDED_S):
            await self._find_stranded(self._stranded.find)
        if await self._has_turn("tidy", TIDY_S):
            await asyncio.to_thread(self._station.tidy)
        await self._remove_folders()
        self._show_health()
        await self._show_numbers()
        if self._choices.drains and not await self._find_work():
            self.end("its queues are empty")

    async def _remove_folders(self) -> None:
        """Remove the folders of runs that were deleted; each worker does it for those on its machine."""
        if time.monotonic() < self._next.get("folders", 0.0):
            return
        self._next["folders"] = time.monotonic() + FOLDERS_S
        removed, problems = await asyncio.to_thread(self._where.workspace.remove_left, self._where.store)
        if removed:
            text = f"has removed the folders of runs that were deleted: {first_of(removed, 5)}"
            self._report(WorkerEvent("removed", text, "", {"runs": removed}))
        for line in problems:
            self._where.warn(line)

    async def _has_turn(self, work: str, every_s: float) -> bool:
        """Return whether it is time for some work, which one worker does for all."""
        if time.monotonic() < self._next.get(work, 0.0):
            return False
        self._next[work] = time.monotonic() + every_s / 3
        return await asyncio.to_thread(self._station.has_turn, work, every_s)

    async def _find_work(self) -> bool:
        """Return whether there is something to do in the queues, also if it has lost its ticket."""
        if await asyncio.to_thread(self._station.pending):
            return True
        return bool(await self._find_stranded(self._stranded.find_any))

    async def _find_stranded(self, find: Callable[[], list[str]]) -> list[str]:
        thread = await asyncio.to_thread(find)
        for run_id in thread:
            self._report(WorkerEvent("recovered", f"{run_id} waits again: it had no ticket", run_id))
        return thread

    async def _recover(self) -> None:
        for run_id in await asyncio.to_thread(self._station.recover):
            self._report(WorkerEvent("recovered", f"{run_id} waits again: its worker is gone", run_id))

    async def _show_numbers(self) -> None:
        """Measure the queues and the runs of the store, which each worker does for itself."""
        measures = self._dispatcher.measures
        if not measures.is_on or time.monotonic() < self._next.get("numbers", 0.0):
            return
        self._next["numbers"] = time.monotonic() + NUMBERS_S
        states = await asyncio.to_thread(self._queue.states)
        runs: dict[str, int] = {
            status: len(await asyncio.to_thread(self._where.store.with_status, status)) for status in MEASURED
        }
        measures.see(states, runs)

    def _show_health(self) -> None:
        if (file := self._choices.health_file) is not None:
            try:
                _replace(file, f"{time.time():.0f}\n")
            except OSError as error:
                if self._is_shown:  # its reader will end this worker, otherwise well
                    self._where.warn(f"the health file {file} cannot be written: {error.strerror or error}")
                self._is_shown = False
            else:
                self._is_shown = True


def _replace(file: Path, text: str) -> None:
    """Write a file so that no reader sees a part of it."""
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
