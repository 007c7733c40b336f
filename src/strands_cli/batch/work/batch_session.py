"""One process's work on a batch, from the rows that it enters to the status that it leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.batch.batch_journal import COMMAND
from strands_cli.batch.work.batch_run import BatchRun, RowEngine, WantsRun, is_unfinished
from strands_cli.batch.work.batch_tally import BatchTally
from strands_cli.batch.work.result_lines import ResultLines
from strands_cli.batch.work.row_collection import collect
from strands_cli.batch.work.workers_of_rows import imported_of_workers
from strands_cli.engine.effects.provider_limits import Turns
from strands_cli.engine.effects.rates import Rate
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.stored_runs.folder_store import session_facts
from strands_cli.engine.stored_runs.held import while_held
from strands_cli.errors import RunRecordError, StrandsCliError
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.batch.batch_choices import BatchChoices
    from strands_cli.batch.batch_journal import BatchJournal, BatchRow
    from strands_cli.batch.reading.checked_rows import CheckedRows
    from strands_cli.batch.work.result_file import ResultFile
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.journal.journal_rows import Clock
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.events import RunStatus
    from strands_cli.planned_rows import PlannedRows

# The name of the batch in the messages of its budget.
THE_BATCH = "the batch"
OpenEngine = Callable[["BatchSession", "Budget | None"], AbstractAsyncContextManager[RowEngine]]
"""Opens where the rows of a batch are run, within what they may spend together."""


def open_engine(session: BatchSession, budget: Budget | None) -> AbstractAsyncContextManager[RowEngine]:
    """Open where the choices of a batch say that its rows are run."""
    choices, workflow, store = session.choices, session.workflow, session.store
    if not choices.engine:
        retry = (COMMAND, "retry", session.batch.id, "--failed")
        return workflow.opened(store, session.tell, budget=budget, providers=choices.limits, retry=retry)

    rows = imported_of_workers("queued_rows").QueuedRows
    opened: AbstractAsyncContextManager[RowEngine] = rows.opened(workflow, store, choices.queue, session.tell, budget)
    return opened


@dataclass(slots=True)
class BatchSession:
    """What a process needs to work on a batch.

    Attributes:
        workflow: The workflow, whose rows are run.
        store: Where the runs are.
        batch: The journal of the batch, held.
        choices: How the rows run.
        results: Where the results go.
        tell: Takes warnings of runs.
        rows: The rows of a file; None where the batch has its rows already.
        source: The name of that file.
        wants: Which rows are run.
        again: Whether rows that have failed are run again.
        encode: Makes the line of a result.
        listen: Is called for each row that has ended or waits.
        fix: How the batch goes on when its budget is spent; `{limit}` is the name of the limit.
        open_engine: Opens where the rows are run; None for this process, or for the workers of a queue.
        clock: The time.
        tally: What the batch has come to; others may look at it meanwhile.
    """

    workflow: PlannedRows
    store: RunStore
    batch: BatchJournal
    choices: BatchChoices
    results: ResultFile
    tell: Callable[[str], None]
    rows: CheckedRows | None = None
    source: str = ""
    wants: WantsRun = is_unfinished
    again: bool = False
    encode: Callable[[Any], str] | None = None
    listen: Callable[[BatchRow], None] = lambda row: None
    fix: str = ""
    open_engine: OpenEngine | None = None
    clock: Clock = field(default_factory=SystemClock)
    tally: BatchTally = field(default_factory=BatchTally)

    async def work(self) -> BatchRun:
        """Run the rows until all have ended or something stops them, and store what became of the batch.

        Raises:
            BudgetExceeded: What the rows may spend together is spent.
            StrandsCliError: The batch cannot begin, its results cannot be written, or its journal cannot.
        """
        journal, error = self.batch.journal, None
        budget = self.workflow.budget(self.choices.budget, THE_BATCH, self.fix, journal)
        journal.put(status="running", reason=None, ended_at=None, worked_s=budget.seconds)
        journal.put(session_started_at=self.clock.now())
        journal.put(**session_facts())
        try:
            return await while_held(journal, self._work(budget))
        except BaseException as raised:
            error = raised
            raise
        finally:
            status, reason = self._end(error)
            ended = {"ended_at": self.clock.now(), "worked_s": budget.seconds, "session_started_at": None}
            # A journal that has failed cannot store this; the error that is raised says it.
            with contextlib.suppress(*([RunRecordError] if error is not None else [])):
                journal.put(status=status, reason=reason, **ended)

    async def _work(self, budget: Budget) -> BatchRun:
        if self.rows is not None:
            await self.batch.enter(self.rows, self.source)
            self.rows.close()
        order = self.batch.order()
        await collect(self.batch, self.store, order)
        limits = budget if self.choices.budget else None
        async with (self.open_engine or open_engine)(self, limits) as engine:
            self.batch.redactor = engine.redactor
            lines = ResultLines(self.batch, order, self.results, self.choices.order, self.encode)
            rate = Rate.parse(self.choices.rate) if self.choices.rate is not None else None
            turns = Turns(self.clock, rate=rate)
            run = BatchRun(self.batch, order, engine, lines, self.choices, turns, self.tally)
            run.budget, run.wants, run.again = limits, self.wants, self.again
            run.listen = self.listen
            run.count()
            await run.run()
        if run.exceeded is not None and self.tally.left:
            raise run.exceeded
        return run

    def _end(self, error: BaseException | None) -> tuple[RunStatus, str | None]:
        """Return the status of the batch, and why it is not complete."""
        tally = self.tally
        if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt)):
            return "interrupted", "the process was asked to stop"
        if isinstance(error, BrokenPipeError):
            return "interrupted", "the reader of the results has stopped"
        if error is not None:
            return "failed", error.message if isinstance(error, StrandsCliError) else f"{type(error).__name__}: {error}"
        if tally.failed:
            return "failed", f"{tally.failed} of {counted(tally.total, 'row')} failed"
        if tally.waiting:
            return "waiting", f"{tally.waiting} of {counted(tally.total, 'row')} wait for a person"
        return "completed", None
