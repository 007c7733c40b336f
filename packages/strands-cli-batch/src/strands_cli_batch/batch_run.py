"""Runs the rows of a batch: so many at a time, at a rate, until all have ended or something stops them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from strands_cli.api import ExitCode, StrandsCliError
from strands_cli_batch.batch_tally import BatchTally
from strands_cli_batch.result_lines import ResultLines

if TYPE_CHECKING:
    from strands_cli.api import Budget, Redactor, RunEnd
    from strands_cli_batch.batch_choices import BatchChoices
    from strands_cli_batch.batch_journal import BatchJournal, BatchRow, RowOrder

Stopped = Literal["budget", "fail-fast"]
"""Why no further row begins."""

Ended = Callable[["RunEnd"], None]


class Turns(Protocol):
    """Lets rows begin in order of arrival."""

    def turn(self) -> AbstractAsyncContextManager[Any]:
        """Wait for a turn, and keep it while the context is open."""


class RowEngine(Protocol):
    """Runs rows: in this process, or by those to whom it submits them."""

    @property
    def redactor(self) -> Redactor:
        """Hides the secrets of the runs in their ends."""

    async def run(self, run_id: str, inputs: Mapping[str, Any], ended: Ended, *, again: bool = False) -> None:
        """Run a row, or continue its run, until it ends or waits for a person.

        A row that breaks has an end too: only an error that ends the whole batch is raised.

        Args:
            run_id: The id of its run.
            inputs: The inputs that it gives.
            ended: Is called once with how far the row came, also where this is cancelled.
            again: Whether a run that failed is continued.
        """


WantsRun = Callable[["BatchRow"], bool]
"""Tells whether a row is to be run now."""


def is_unfinished(row: BatchRow) -> bool:
    """Return whether a row is run by every command that continues its batch.

    A waiting row is, where one of its questions may be answered by now: by its default, or by a permission.
    """
    if row.outcome is None or row.outcome.goes_on:
        return True
    questions = row.outcome.questions
    return any(question.get("timeout_s") is not None or question.get("kind") == "approval" for question in questions)


def has_failed(row: BatchRow) -> bool:
    """Return whether `retry --failed` runs a row again, or it is unfinished."""
    return is_unfinished(row) or (row.outcome is not None and row.outcome.status == "failed")


@dataclass(slots=True)
class BatchRun:
    """One process's work on a batch.

    Attributes:
        batch: The journal of the batch, held.
        order: The rows in their order.
        engine: The engine that runs them.
        lines: Takes the results.
        choices: How they run.
        turns: Lets rows begin at a rate.
        tally: Counts them; others may look at it meanwhile.
        budget: The limits of all of them together.
        wants: Which rows are run.
        again: Whether failed rows are run again.
        stopped: Why no further row begins, once something has stopped the batch.
        exceeded: The limit that was reached.
        failed_here: How many rows have failed in this process.
        listen: Is called for each ended or waiting row.
    """

    batch: BatchJournal
    order: RowOrder
    engine: RowEngine
    lines: ResultLines
    choices: BatchChoices
    turns: Turns
    tally: BatchTally
    budget: Budget | None = None
    wants: WantsRun = is_unfinished
    again: bool = False
    stopped: Stopped | None = None
    exceeded: StrandsCliError | None = None
    failed_here: int = 0
    listen: Callable[[BatchRow], None] = lambda row: None

    async def run(self) -> None:
        """Run the rows; a stop leaves every row as far as it came.

        Raises:
            RunRecordError: The journal of the batch cannot be written.
            ArtifactError: The results cannot be written.
        """
        rows = self._to_run()
        try:
            self.lines.repeat(self.wants)
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.choices.at_a_time, self.order.count)):
                    group.create_task(self._work(rows))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            self.lines.finish()

    def count(self) -> None:
        """Count the rows of earlier processes."""
        self.tally.total = len(self.order)
        self.tally.left_out = len(self.batch.left_out)
        for digest in self.order.distinct():
            row, times = self.batch.row(digest), len(self.order.places(digest))
            if row.outcome is None:
                continue
            self.tally.spent = self.tally.spent.plus(row.outcome)
            if self.budget is not None:
                row.outcome.count_in(self.budget, row.run_id)
            if row.is_settled and not self.wants(row):
                self.tally.reused += times if row.outcome.status == "completed" else 0
                self.tally.add(row.run_id, row.outcome, times)

    def _to_run(self) -> Iterator[BatchRow]:
        for digest in self.order.distinct():
            row = self.batch.row(digest)
            if self.wants(row):
                yield row

    async def _work(self, rows: Iterator[BatchRow]) -> None:
        """Run one row after another."""
        while not self._must_stop() and (row := next(rows, None)) is not None:
            async with self.turns.turn():
                if not self._must_stop():
                    await self._run(row)

    async def _run(self, row: BatchRow) -> None:
        times = len(self.order.places(row.digest))
        before, row = row, self.batch.begin(row)
        self.tally.running += 1

        def ended(outcome: RunEnd) -> None:
            self.tally.running -= 1
            self._take(before, row, outcome, times)

        await self.engine.run(row.run_id, row.inputs, ended, again=self.again)

    def _take(self, before: BatchRow, row: BatchRow, outcome: RunEnd, times: int) -> None:
        self.tally.spent = self.tally.spent.plus(before.outcome, -1).plus(outcome)
        if outcome.status == "interrupted" and outcome.exit_code == ExitCode.BUDGET and self.stopped is None:
            self.stopped, self.exceeded = "budget", _limit_of_policy(outcome)
        ended = self.batch.end(row, outcome)
        if ended.outcome is None or not ended.is_settled:
            return
        self.tally.ended_here += times
        self.tally.add(ended.run_id, ended.outcome, times)
        self.lines.ended(ended)
        self.failed_here += times if ended.outcome.status == "failed" else 0
        if self.choices.fail_fast is not None and self.failed_here >= self.choices.fail_fast:
            self.stopped = self.stopped or "fail-fast"
        self.listen(ended)

    def _must_stop(self) -> bool:
        """Return whether no further row begins."""
        if self.stopped is None and self.budget is not None and (error := self.budget.exceeded()) is not None:
            self.stopped, self.exceeded = "budget", error
        return self.stopped is not None


def _limit_of_policy(outcome: RunEnd) -> StrandsCliError:
    """Return why no row may begin: a limit that all runs have together, which one of them has reached."""
    message, fix = str((outcome.error or {}).get("message", "")), "continue the batch then, or with a larger limit"
    error = StrandsCliError(message, fix=fix)
    error.exit_code = ExitCode.BUDGET
    return error
