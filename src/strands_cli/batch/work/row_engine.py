"""Where the rows of a batch are run: the port, and the one that runs them in this process."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli import app
from strands_cli.agents.assembly import assemble
from strands_cli.batch.batch_choices import providers_of
from strands_cli.batch.rows.row_ends import RowWatch, goes_on_alone, outcome_in, questions_in, structured_output
from strands_cli.engine.effects.provider_limits import ProviderLimits, read_provider_limits
from strands_cli.engine.run_start.corrected_workflow import without_own_artifacts
from strands_cli.engine.run_start.run_facts import raised_budgets, require_same, stored_request
from strands_cli.engine.stored_runs.opened import opened_run
from strands_cli.engine.waiting.allowed_calls import store_permissions
from strands_cli.engine.waiting.denied_calls import redo_denied
from strands_cli.engine.waiting.no_person import NoPerson
from strands_cli.errors import CannotStore, RunRecordError
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.workspace import workspace_of

if TYPE_CHECKING:
    from strands_cli.agents.shared_runs import SharedRuns
    from strands_cli.batch.batch_choices import BatchChoices
    from strands_cli.batch.batch_journal import BatchJournal, BatchRow
    from strands_cli.batch.rows.row_outcome import RowOutcome
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.journal.journal_rows import Clock
    from strands_cli.engine.plan_execution import RunResult
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest

Ended = Callable[["RowOutcome"], None]


class RowEngine(Protocol):
    """Runs rows: in this process, or by those to whom it submits them."""

    async def run(self, row: BatchRow, ended: Ended) -> None:
        """Run a row, or continue its run, until it ends or waits for a person.

        A row that breaks is an outcome too: only what ends the whole batch is raised.

        Args:
            row: The row; its `attempt` counts this time.
            ended: Is called once with how far the row came, also where this is cancelled.
        """


class RowSession(Protocol):
    """What rows are run for, as far as an engine needs it: a `BatchSession`."""

    @property
    def planned(self) -> Plan:
        """The plan of the workflow, without the inputs of rows."""

    @property
    def planner(self) -> RowPlanner:
        """The planner of the rows."""

    @property
    def request(self) -> RunRequest:
        """What the person wants of each run."""

    @property
    def store(self) -> RunStore:
        """Where the runs are."""

    @property
    def batch(self) -> BatchJournal:
        """The journal of the batch."""

    @property
    def choices(self) -> BatchChoices:
        """How the rows run."""

    @property
    def tell(self) -> Callable[[str], None]:
        """What takes warnings of runs."""

    @property
    def again(self) -> bool:
        """Whether rows that have failed are run again."""

    @property
    def clock(self) -> Clock:
        """The time."""


class OpenEngine(Protocol):
    """Opens where the rows of a batch are run."""

    def __call__(self, session: RowSession, budget: Budget | None, /) -> AbstractAsyncContextManager[RowEngine]:
        """Return the context of an engine; it gives the journal of the batch what hides secrets in outcomes.

        Args:
            session: What the rows are run for.
            budget: What they may spend together.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class LocalRows:
    """Runs rows in this process, all of them with one plan, one catalog and the same model objects.

    Attributes:
        planner: The planner of the rows.
        request: What the person wants of each run.
        store: Where the runs are.
        shared: What they share.
        tell: Takes warnings of runs.
        again: Whether a row that has failed is run again.
    """

    planner: RowPlanner
    request: RunRequest
    store: RunStore
    shared: SharedRuns
    tell: Callable[[str], None]
    again: bool = False

    async def run(self, row: BatchRow, ended: Ended) -> None:
        """Run a row, or continue its run; see `RowEngine`."""
        watch = RowWatch(self.tell)
        try:
            outcome = await self._outcome(row, watch)
        except (asyncio.CancelledError, CannotStore):  # the next rows could not be stored either
            ended(watch.interrupted())
            raise
        except Exception as error:  # noqa: BLE001 - a row that breaks, for whatever reason, must not end the others
            outcome = watch.stopped(error)
        ended(self._asking(row, outcome))

    async def _outcome(self, row: BatchRow, watch: RowWatch) -> RowOutcome:
        journal, missing = self._stored(row)
        if journal is None:
            return await self._started(row, watch, missing)
        try:
            known, is_widened = outcome_in(journal), store_permissions(journal, self.request)
            if known is not None and not self._goes_on(known, journal, is_widened=is_widened):
                return known
            await redo_denied(journal)
            request = self._request(row, stored_request(journal, {}))
            planned = without_own_artifacts(self._plan(row, request), journal)
            require_runnable(planned)
            require_same(planned, journal)
            planned = raised_budgets(planned, journal, {})
        except BaseException:
            journal.close()
            raise
        human = NoPerson(denies=self.request.deny)
        result = await app.resume(planned, journal, request, human, watch, shared=self.shared)
        return self._completed(row, result, watch)

    def _goes_on(self, known: RowOutcome, journal: StoredJournal, *, is_widened: bool) -> bool:
        """Return whether a run that ended or waits is continued."""
        if known.status == "waiting":
            return goes_on_alone(journal, is_widened=is_widened, now=time.time())
        return self.again and known.status == "failed"

    def _stored(self, row: BatchRow) -> tuple[StoredJournal | None, RunRecordError | None]:
        """Return the journal of a row's run, held; without one, why it cannot be opened."""
        try:
            return opened_run(self.store, row.run_id, hold=True), None
        except RunRecordError as error:
            return None, error

    async def _started(self, row: BatchRow, watch: RowWatch, missing: RunRecordError | None) -> RowOutcome:
        request = self._request(row, self.request)
        planned = self._plan(row, request)
        require_runnable(planned)
        human = NoPerson(denies=self.request.deny)
        try:
            result = await app.run(planned, request, human, watch, run_id=row.run_id, shared=self.shared)
        except CannotStore:
            raise
        except RunRecordError as error:
            # There is a journal, and it could not be opened: that is what the person must know.
            raise (error if watch.has_begun or missing is None else missing) from error
        return self._completed(row, result, watch)

    def _request(self, row: BatchRow, request: RunRequest) -> RunRequest:
        """Return the request of a row, whose artifacts have a folder of their own."""
        out_dir, fails = self.request.out_dir / row.run_id, self.request.fail_on_denied
        return dataclasses.replace(request, out_dir=out_dir, fail_on_denied=fails, tell=self.tell)

    def _plan(self, row: BatchRow, request: RunRequest) -> Plan:
        return self.planner.plan({**self.planner.planned.inputs, **row.inputs}, out_dir=request.out_dir)

    def _completed(self, row: BatchRow, result: RunResult, watch: RowWatch) -> RowOutcome:
        output: Any = None
        if any(agent.output_schema is not None for agent in self.planner.planned.agents.values()):
            output = self._read(row, structured_output)
        return watch.completed(result, output)

    def _asking(self, row: BatchRow, outcome: RowOutcome) -> RowOutcome:
        """Return an outcome with the questions of a run that waits."""
        if outcome.status not in ("waiting", "needs-decision") or outcome.questions:
            return outcome
        return dataclasses.replace(outcome, questions=self._read(row, questions_in) or ())

    def _read(self, row: BatchRow, read: Callable[[StoredJournal], Any]) -> Any:
        try:
            journal = self.store.open(row.run_id, hold=False)
        except RunRecordError:
            return None
        try:
            return read(journal)
        finally:
            journal.close()


@contextlib.asynccontextmanager
async def local_rows(session: RowSession, budget: Budget | None) -> AsyncIterator[RowEngine]:
    """Open what runs rows in this process, and load the tools and models once.

    So what this machine lacks is one error, and not one for each row.

    Raises:
        StrandsCliError: A tool, a model or a secret cannot be loaded.
    """
    planned, request = session.planned, session.request
    limits = ProviderLimits.of(read_provider_limits(session.choices.limits, providers_of(planned)), session.clock)
    async with app.shared_runs(planned, budget=budget, provider_limits=limits) as shared:
        session.batch.redactor = (await shared.secrets(planned)).redactor
        workers = await assemble(planned, workspace_of(planned), shared, request, session.tell)
        await workers.close_with(session.tell)
        yield LocalRows(session.planner, request, session.store, shared, session.tell, session.again)
