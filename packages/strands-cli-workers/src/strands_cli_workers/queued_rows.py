"""Rows that workers run: each is submitted to a queue of the store, and waited for."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.api import HIDE_NOTHING, ExitCode, PlannedRows, Redactor, RunEnd, RunRecordError, Takeover, Unreachable
from strands_cli_workers.names import require_queue_name
from strands_cli_workers.open_queue import opened_queue, wait_again
from strands_cli_workers.patience import reached
from strands_cli_workers.queue_values import Ticket
from strands_cli_workers.submission import Submission, submittable

if TYPE_CHECKING:
    from strands_cli.api import Budget, RunStore
    from strands_cli_workers.run_queue import RunQueue

# How often is looked whether runs have ended; one statement, whatever their number.
LOOK_S = 0.5
# After how long a row that could not be submitted, since the store did not answer, is submitted again.
AGAIN_S = 1.0
# How many rows are submitted at the same time; the store commits them together.
SUBMITTERS = 8


class QueuedRows:
    """Submits rows, and waits until workers have run them; see `RowRuns`.

    Attributes:
        redactor: Hides nothing: secrets are those of the workers.

    Args:
        rows: Their workflow.
        store: The store of the runs.
        queue: The queues of the store.
        name: The queue in which they wait.
        warn: Takes warnings.
        budget: Their limits together.
    """

    redactor: Redactor = HIDE_NOTHING
    require_queue_name = staticmethod(require_queue_name)
    reached = staticmethod(reached)

    def __init__(
        self,
        rows: PlannedRows,
        store: RunStore,
        queue: RunQueue,
        name: str,
        warn: Callable[[str], None],
        budget: Budget | None = None,
    ) -> None:
        self._rows, self._store, self._queue, self._name = rows, store, queue, name
        self._warn, self._budget = warn, budget
        self._submission = Submission(store, queue)
        self._submitting = asyncio.Semaphore(SUBMITTERS)
        self._waiting: dict[str, asyncio.Event] = {}

    @staticmethod
    def require_submittable(rows: PlannedRows) -> PlannedRows:
        """Return rows whose findings about keys and extras, which workers have of their own, are warnings.

        Raises:
            StrandsCliError: They cannot run anywhere, or their store has no queues.
        """
        with opened_queue(rows.plan.store):
            return dataclasses.replace(rows, plan=submittable(rows.plan, rows.request).planned)

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(
        cls,
        rows: PlannedRows,
        store: RunStore,
        name: str,
        warn: Callable[[str], None],
        budget: Budget | None = None,
    ) -> AsyncIterator[QueuedRows]:
        """Open the queue through which workers run rows; secrets are theirs, so nothing is loaded here.

        Raises:
            UsageError: The runs are in a directory.
            NotEquipped: No plugin for the store is installed.
            RunRecordError: The store has no queues.
        """
        with opened_queue(store.place) as (_, queue):
            if not any(name in worker.queues and worker.is_alive for worker in queue.workers()):
                warn(f"no worker works on the queue: strands workers start --queue {name}")
            queued = cls(rows, store, queue, name, warn, budget)
            looking = asyncio.ensure_future(queued._look())
            try:
                yield queued
            finally:
                looking.cancel()

    async def run(
        self, run_id: str, inputs: Mapping[str, Any], ended: Callable[[RunEnd], None], *, again: bool = False
    ) -> None:
        """Submit a row, or the run that it has, and wait until that ends or waits for a person; see `RowRuns.run`."""
        try:
            end = await self._end(run_id, inputs, again=again)
        except asyncio.CancelledError:
            ended(RunEnd("interrupted", int(ExitCode.INTERRUPTED)))
            raise
        except Exception as error:  # noqa: BLE001 - a row that breaks, for whatever reason, must not end the others
            end = RunEnd.of_error(error)
        if self._budget is not None:
            end.count_in(self._budget, run_id)
        ended(end)

    async def _end(self, run_id: str, inputs: Mapping[str, Any], *, again: bool) -> RunEnd:
        end = await self._submitted_some_time(run_id, inputs, again=again)
        while end is None:
            await self._waiting.setdefault(run_id, asyncio.Event()).wait()
            del self._waiting[run_id]
            end = await asyncio.to_thread(self._stored_end, run_id)
        return end

    async def _submitted_some_time(self, run_id: str, inputs: Mapping[str, Any], *, again: bool) -> RunEnd | None:
        """Submit a row, as often as the store does not answer: only the loss of their own lock ends all rows."""
        while True:
            try:
                async with self._submitting:
                    return await asyncio.to_thread(self._submitted, run_id, inputs, again=again)
            except Unreachable:
                await asyncio.sleep(AGAIN_S)

    def _submitted(self, run_id: str, inputs: Mapping[str, Any], *, again: bool) -> RunEnd | None:
        """Let a row wait for a worker; return its end where it has ended already."""
        end = self._stored_end(run_id)
        if end is not None and end.status != "waiting" and not (again and end.status == "failed"):
            return end
        if end is None and self._queue.live([run_id]):
            return None
        if not self._is_stored(run_id):
            self._submit(run_id, inputs)
            return None
        with contextlib.closing(self._store.open(run_id)) as journal:
            has_begun = journal.get("status") is not None
            if has_begun:
                if (end := asyncio.run(self._rows.last_end(journal, again=again))) is not None:
                    return end
                if journal.get("ticket") is None:  # it began in a process of its own
                    facts = submittable(self._rows.plan, self._rows.request).facts()
                    journal.put(ticket=Ticket(run_id, self._name).as_dict(), **facts)
                ticket = wait_again(journal)
        if has_begun:
            self._queue.put(ticket)
        else:
            self._submit(run_id, inputs)
        return None

    def _submit(self, run_id: str, inputs: Mapping[str, Any]) -> None:
        run = submittable(self._rows.row(inputs), self._rows.request)
        self._submission.submit(run, Ticket(run_id, self._name))

    def _is_stored(self, run_id: str) -> bool:
        try:
            return self._store.find(run_id) == run_id
        except Unreachable:
            raise
        except RunRecordError:
            return False

    def _stored_end(self, run_id: str) -> RunEnd | None:
        """Return how far the run of a row came; None if it goes on, or there is none."""
        try:
            with contextlib.closing(self._store.open(run_id, hold=False)) as journal:
                end = RunEnd.of(journal)
        except RunRecordError:
            return None
        return None if end.goes_on else end

    async def _look(self) -> None:
        """Wake those who wait for ended runs, again and again."""
        is_answered = True
        while True:
            await asyncio.sleep(LOOK_S)
            if not self._waiting:
                continue
            try:
                going_on = set(await asyncio.to_thread(self._store.with_status, *Takeover.GOES_ON))
            except RunRecordError as error:  # only the loss of their own lock ends all rows
                if is_answered:
                    self._warn(f"which rows are done is asked again, until there is an answer: {error.message}")
                is_answered = False
                continue
            is_answered = True
            for run_id in self._waiting.keys() - going_on:
                self._waiting[run_id].set()
