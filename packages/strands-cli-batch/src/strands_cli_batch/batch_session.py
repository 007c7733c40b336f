"""One process's work on a batch, from the rows that it enters to the status that it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.api import RunRecordError, StrandsCliError, counted, session_facts, while_held
from strands_cli_batch.batch_run import BatchRun, RowEngine, WantsRun, is_unfinished
from strands_cli_batch.batch_tally import BatchTally
from strands_cli_batch.command_parts import PARTS
from strands_cli_batch.result_lines import ResultLines
from strands_cli_batch.row_collection import collect
from strands_cli_batch.row_queues import row_queues

if TYPE_CHECKING:
    from strands_cli.api import Budget, PlannedRows, RunStatus, RunStore
    from strands_cli_batch.batch_choices import BatchChoices
    from strands_cli_batch.batch_journal import BatchJournal, BatchRow
    from strands_cli_batch.checked_rows import CheckedRows
    from strands_cli_batch.result_file import ResultFile

# The name of the batch in the messages of its budget.
THE_BATCH = "the batch"
OpenEngine = Callable[["BatchSession", "Budget | None"], AbstractAsyncContextManager[RowEngine]]
"""Opens where the rows of a batch are run, within what they may spend together."""


def open_engine(session: BatchSession, budget: Budget | None) -> AbstractAsyncContextManager[RowEngine]:
    """Open where the choices of a batch say that its rows are run."""
    choices, workflow, store = session.choices, session.workflow, session.store
    if not choices.engine:
        retry = (PARTS.command, "retry", session.batch.id, "--failed")
        return workflow.opened(store, session.tell, budget=budget, providers=choices.limits, retry=retry)
    return row_queues().opened(workflow, store, choices.queue, session.tell, budget)


@dataclass(slots=True)
class BatchSession:
    """The parts that a process needs to work on a batch.

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
        again: Whether failed rows are run again.
        encode: Makes the line of a result.
        listen: Is called for each ended or waiting row.
        fix: How the batch goes on when its budget is spent; `{limit}` is the name of the limit.
        open_engine: Opens the engine of the rows; None for this process, or for the workers of a queue.
        tally: The result of the batch; others may look at it meanwhile.
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
    tally: BatchTally = field(default_factory=BatchTally)

    async def work(self) -> BatchRun:
        """Run the rows until all have ended or something stops them, and store the result of the batch.

        Raises:
            BudgetExceeded: The limit of the rows together is spent.
            StrandsCliError: The batch cannot begin, its results cannot be written, or its journal cannot.
        """
        journal, error = self.batch.journal, None
        budget = self.workflow.budget(self.choices.budget, THE_BATCH, self.fix, journal)
        journal.put(status="running", reason=None, ended_at=None, worked_s=budget.seconds)
        journal.put(session_started_at=time.time())
        journal.put(**session_facts())
        try:
            return await while_held(journal, self._work(budget))
        except BaseException as raised:
            error = raised
            raise
        finally:
            status, reason = self._end(error)
            ended = {"ended_at": time.time(), "worked_s": budget.seconds, "session_started_at": None}
            # A failed journal cannot store this; the raised error says it.
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
            turns = self.workflow.turns(self.choices.rate)
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
