"""One process's work on a batch, from the rows that it enters to the status that it leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.batch.batch_choices import budgets_section
from strands_cli.batch.rows.row_ends import THE_BATCH
from strands_cli.batch.work.batch_run import BatchRun, WantsRun, is_unfinished
from strands_cli.batch.work.batch_tally import BatchTally
from strands_cli.batch.work.result_lines import ResultLines
from strands_cli.batch.work.row_collection import collect
from strands_cli.batch.work.row_engine import OpenEngine, local_rows
from strands_cli.engine.effects.budget import Budget, worked_before
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
    from strands_cli.engine.journal.journal_rows import Clock
    from strands_cli.engine.ports.store_port import RunStore
    from strands_cli.events import RunStatus
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest


@dataclass(slots=True)
class BatchSession:
    """What a process needs to work on a batch.

    Attributes:
        planned: The plan of the workflow, without the inputs of rows.
        planner: The planner of the rows.
        request: What the person wants of each run.
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
        open_engine: Opens where the rows are run.
        clock: The time.
        tally: What the batch has come to; others may look at it meanwhile.
    """

    planned: Plan
    planner: RowPlanner
    request: RunRequest
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
    open_engine: OpenEngine = local_rows
    clock: Clock = field(default_factory=SystemClock)
    tally: BatchTally = field(default_factory=BatchTally)

    async def work(self) -> BatchRun:
        """Run the rows until all have ended or something stops them, and store what became of the batch.

        Raises:
            BudgetExceeded: What the rows may spend together is spent.
            StrandsCliError: The batch cannot begin, its results cannot be written, or its journal cannot.
        """
        journal, error = self.batch.journal, None
        began = self.clock.monotonic()
        earlier = worked_before(journal)
        journal.put(status="running", reason=None, ended_at=None, worked_s=earlier)
        journal.put(session_started_at=self.clock.now())
        journal.put(**session_facts())
        try:
            return await while_held(journal, self._work(earlier))
        except BaseException as raised:
            error = raised
            raise
        finally:
            worked = earlier + self.clock.monotonic() - began
            status, reason = self._end(error)
            ended = {"ended_at": self.clock.now(), "worked_s": worked, "session_started_at": None}
            # A journal that has failed cannot store this; the error that is raised says it.
            with contextlib.suppress(*([RunRecordError] if error is not None else [])):
                journal.put(status=status, reason=reason, **ended)

    async def _work(self, earlier_s: float) -> BatchRun:
        if self.rows is not None:
            await self.batch.enter(self.rows, self.source)
            self.rows.close()
        order = self.batch.order()
        await collect(self.batch, self.store, order)
        budget = self._budget(earlier_s)
        async with self.open_engine(self, budget) as engine:
            lines = ResultLines(self.batch, order, self.results, self.choices.order, self.encode)
            rate = Rate.parse(self.choices.rate) if self.choices.rate is not None else None
            turns = Turns(self.clock, rate=rate)
            run = BatchRun(self.batch, order, engine, lines, self.choices, turns, self.tally, budget, self.wants)
            run.listen = self.listen
            run.count()
            await run.run()
        if run.exceeded is not None and self.tally.left:
            raise run.exceeded
        return run

    def _budget(self, earlier_s: float) -> Budget | None:
        if not self.choices.budget:
            return None
        limits = budgets_section(self.choices.budget)
        return Budget.of_many(limits, self.clock, THE_BATCH, self.fix, earlier_s=earlier_s)

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
