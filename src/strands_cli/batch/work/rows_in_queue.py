"""Rows that workers run: each is submitted to a queue of the store, and waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from strands_cli.batch.rows.row_ends import RowWatch, goes_on_alone, outcome_in
from strands_cli.batch.rows.row_outcome import RowOutcome
from strands_cli.engine.waiting.allowed_calls import store_permissions
from strands_cli.engine.waiting.denied_calls import redo_denied
from strands_cli.errors import RunRecordError, Unreachable
from strands_cli.queues.engine_choice import queue_at
from strands_cli.queues.queue_port import Ticket
from strands_cli.workers.submitted.submission import Submission, submittable
from strands_cli.workers.submitted.waiting_again import wait_again

if TYPE_CHECKING:
    from strands_cli.batch.batch_journal import BatchRow
    from strands_cli.batch.work.row_engine import Ended, RowEngine, RowSession
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.events import RunStatus
    from strands_cli.queues.queue_port import RunQueue

# How often is looked whether runs have ended; one statement, whatever their number.
LOOK_S = 0.5
# After how long a row that could not be submitted, since the store did not answer, is submitted again.
AGAIN_S = 1.0
# How many rows are submitted at the same time; the store commits them together.
SUBMITTERS = 8
_GOING_ON: tuple[RunStatus, ...] = ("queued", "running", "interrupted")


class QueuedRows:
    """Submits rows, and waits until workers have run them; see `RowEngine`."""

    def __init__(self, session: RowSession, queue: RunQueue, budget: Budget | None) -> None:
        self._session, self._queue, self._budget = session, queue, budget
        self._submission = Submission(session.store, queue, session.request)
        self._submitting = asyncio.Semaphore(SUBMITTERS)
        self._waiting: dict[str, asyncio.Event] = {}

    async def run(self, row: BatchRow, ended: Ended) -> None:
        """Submit a row, or the run that it has, and wait until that ends or waits for a person."""
        watch = RowWatch(self._session.tell)
        try:
            outcome = await self._outcome(row)
        except asyncio.CancelledError:
            ended(watch.interrupted())
            raise
        except Exception as error:  # noqa: BLE001 - a row that breaks, for whatever reason, must not end the others
            outcome = watch.stopped(error)
        if self._budget is not None:
            spent = outcome.spent
            calls = {"steps": spent.steps, "model_calls": spent.model_calls, "tool_calls": spent.tool_calls}
            self._budget.count_run(row.run_id, spent.usage, spent.cost_usd, **calls)
        ended(outcome)

    async def _outcome(self, row: BatchRow) -> RowOutcome:
        known = await self._submitted_some_time(row)
        while known is None:
            await self._waiting.setdefault(row.run_id, asyncio.Event()).wait()
            del self._waiting[row.run_id]
            known = await asyncio.to_thread(self._found, row)
        return known

    async def _submitted_some_time(self, row: BatchRow) -> RowOutcome | None:
        """Submit a row, as often as the store does not answer: what ends the batch is that its own lock is lost."""
        while True:
            try:
                async with self._submitting:
                    return await asyncio.to_thread(self._submitted, row)
            except Unreachable:
                await asyncio.sleep(AGAIN_S)

    def _submitted(self, row: BatchRow) -> RowOutcome | None:
        """Let a row wait for a worker; return its outcome where it has ended already."""
        known = self._found(row)
        if known is not None and not self._goes_on(row, known):
            return known
        if self._queue.live([row.run_id]):
            return None
        if (ticket := self._waiting_again(row)) is not None:
            self._queue.put(ticket)
            return None
        planned = self._session.planner.plan({**self._session.planned.inputs, **row.inputs})
        self._submission.submit(submittable(planned, self._session.request), self._ticket(row))
        return None

    def _goes_on(self, row: BatchRow, known: RowOutcome) -> bool:
        """Return whether a run that ended or waits is given to a worker again."""
        if known.status != "waiting":
            return self._session.again and known.status == "failed"
        with contextlib.closing(self._session.store.open(row.run_id)) as journal:
            is_widened = store_permissions(journal, self._session.request)
            return goes_on_alone(journal, is_widened=is_widened, now=self._session.clock.now())

    def _ticket(self, row: BatchRow) -> Ticket:
        return Ticket(row.run_id, self._session.choices.queue)

    def _waiting_again(self, row: BatchRow) -> Ticket | None:
        """Return the ticket of a run that the row has; None if it has none yet.

        Raises:
            RunRecordError: A process works on it.
        """
        store = self._session.store
        if row.run_id not in self._known(row):
            return None
        with contextlib.closing(store.open(row.run_id)) as journal:
            if journal.get("status") is None:
                return None
            if journal.get("ticket") is None:  # it began in the process of the batch
                journal.put(ticket=self._ticket(row).as_dict(), **self._submission.facts(self._session.planned))
            store_permissions(journal, self._session.request)
            asyncio.run(redo_denied(journal))
            return wait_again(journal)

    def _known(self, row: BatchRow) -> list[str]:
        try:
            return [self._session.store.find(row.run_id)]
        except Unreachable:
            raise
        except RunRecordError:
            return []

    def _found(self, row: BatchRow) -> RowOutcome | None:
        """Return how far the run of a row came; None if it goes on, or there is none."""
        try:
            journal = self._session.store.open(row.run_id, hold=False)
        except RunRecordError:
            return None
        with contextlib.closing(journal):
            return outcome_in(journal)

    async def look(self) -> None:
        """Wake those who wait for runs that have ended, again and again."""
        is_answered = True
        while True:
            await asyncio.sleep(LOOK_S)
            if not self._waiting:
                continue
            try:
                going_on = set(await asyncio.to_thread(self._session.store.with_status, *_GOING_ON))
            except RunRecordError as error:  # what ends the batch is that its own lock is lost
                if is_answered:
                    self._session.tell(f"which rows are done is asked again, until there is an answer: {error.message}")
                is_answered = False
                continue
            is_answered = True
            for run_id in self._waiting.keys() - going_on:
                self._waiting[run_id].set()


@contextlib.asynccontextmanager
async def queued_rows(session: RowSession, budget: Budget | None) -> AsyncIterator[RowEngine]:
    """Open what lets workers run rows; secrets are theirs, so nothing is loaded here.

    Raises:
        UsageError: The runs are in a directory.
        NotEquipped: No engine is installed.
        RunRecordError: The store has no queues.
    """
    with contextlib.closing(queue_at(session.store.place)) as queue:
        if not any(session.choices.queue in one.queues and one.is_alive for one in queue.workers()):
            session.tell(f"no worker works on the queue: strands worker --queue {session.choices.queue}")
        rows = QueuedRows(session, queue, budget)
        looking = asyncio.ensure_future(rows.look())
        try:
            yield rows
        finally:
            looking.cancel()
