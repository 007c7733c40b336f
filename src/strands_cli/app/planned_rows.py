"""One workflow with many inputs: its plan, the check of each row, and rows as runs of this process."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from strands_cli import app
from strands_cli.engine.corrected_workflow import resumable, stored_workflow
from strands_cli.engine.journal.journal_rows import DIGEST_CHARS, command_of, part_id, pattern_of_whole, whole_of
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.run_facts import create_journal, require_same, stored_request
from strands_cli.engine.stored_runs.described import run_of
from strands_cli.engine.stored_runs.opened import opened_run
from strands_cli.engine.stored_runs.run_owners import cancel_run
from strands_cli.engine.waiting.questions import NoPerson, decide_calls
from strands_cli.engine.waiting.run_hooks import redo_denied, store_permissions
from strands_cli.errors import BudgetExceeded, CallDenied, CannotStore, ExitCode, RunRecordError, exit_code_of
from strands_cli.events import Event, RunFinished, RunStarted, RunWarning, StepFinished
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import all_workflows_in
from strands_cli.planning.row_planner import MISSING_INPUT, WrittenValues
from strands_cli.run_views.run_end import RunEnd, answerable_questions, error_document, goes_on_alone, structured_output
from strands_cli.texts.canonical_json import digest_of

if TYPE_CHECKING:
    from strands_cli.agents.assembly import SharedRuns
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.effects.provider_limits import Turns
    from strands_cli.engine.plan_execution import RunResult
    from strands_cli.engine.store_port import RunStore, StoredJournal, StoredRun
    from strands_cli.errors import Finding
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.secrets.redactor import Redactor
    from strands_cli.workflow.model import LoadedWorkflow


Ended = Callable[[RunEnd], None]
# Fields of a request that change the permissions of a run; its models are a part of the plan.
_MEANING = ("allow", "yes", "detach", "policy", "locked")


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedRows:
    """A workflow whose rows can be planned, checked and run; a row has inputs over those common to all.

    Attributes:
        planner: Plans a row.
        plan: The plan of the workflow with the common inputs alone; its findings are not about a row.
        request: A person's choices about each run.
    """

    planner: RowPlanner
    plan: Plan
    request: RunRequest

    @classmethod
    def of(cls, source: str, request: RunRequest) -> PlannedRows:
        """Return the rows of a workflow.

        Args:
            source: Its file, `-` for standard input, or `DIST/NAME` of a package.

        Raises:
            InvalidInput: The file is not a valid workflow.
        """
        return cls._made(app.load(source), request)

    @classmethod
    def _made(cls, loaded: LoadedWorkflow, request: RunRequest) -> PlannedRows:
        planner = app.plan_rows(loaded, request)
        of_workflow = (
            finding for finding in planner.planned.findings if finding.code not in (MISSING_INPUT, ARTIFACT_EXISTS)
        )
        return cls(planner, dataclasses.replace(planner.planned, findings=tuple(of_workflow)), request)

    @classmethod
    def stored(cls, journal: StoredJournal, changes: Mapping[str, Any]) -> PlannedRows:
        """Return the rows of a workflow that a held journal has, planned as they were when it began.

        Args:
            changes: Fields of `RunRequest` that replace the stored ones; their permissions are stored.

        Raises:
            StrandsCliError: This installation can no longer run the workflow.
            RunRecordError: The plan differs from the one that the journal began with.
        """
        request, loaded = stored_workflow(journal, changes)
        rows = cls._made(loaded, request)
        require_same(rows.plan, journal)
        store_permissions(journal, request)
        return rows

    @property
    def digest(self) -> str:
        """The digest of the workflow, its files and the options that change the permissions of a run."""
        request, plan = self.request, self.plan
        meaning = {name: str(getattr(request, name)) for name in _MEANING}
        meaning |= {"deny": "True"} if request.deny else {}  # rows that began before there was a choice keep their ids
        # By their texts alone: a moved project has the same rows.
        files = sorted(digest_of(text) for text in plan.files.values())
        return digest_of({"plan": plan.digest, "files": files, "options": meaning})

    @property
    def providers(self) -> Sequence[str]:
        """The names of the model providers that the runs ask."""
        agents = [agent for plan in (self.plan, *all_workflows_in(self.plan)) for agent in plan.agents.values()]
        return list(dict.fromkeys(model.provider for agent in agents for model in agent.every_model))

    def require_runnable(self, more: Iterable[Finding] = ()) -> None:
        """Check the faults of the workflow, whatever its rows are.

        Args:
            more: Further findings about it.

        Raises:
            StrandsCliError: There are errors among the findings.
        """
        require_runnable(dataclasses.replace(self.plan, findings=(*self.plan.findings, *more)))

    def check(
        self,
        texts: Mapping[str, str],
        values: Mapping[str, Any],
        written: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[Mapping[str, Any], Sequence[Finding]]:
        """Return all inputs of a row in their types, and their faults.

        Args:
            texts: Inputs as text; they win over `values`.
            values: Inputs with types.
            written: The texts of those values that their JSON would spell otherwise (`1.10`).
        """
        common = self.request
        both = WrittenValues(common.values).with_those(values, written)
        return self.planner.check({**common.variables, **texts}, both)

    def check_limits(self, budget: Mapping[str, float], providers: Iterable[str] = ()) -> Sequence[Finding]:
        """Return findings that keep limits from holding for all rows together: one on money without prices.

        Args:
            budget: Limits by names of `runtime.budgets`.
            providers: How often providers may be asked: `PROVIDER=4` at a time, `PROVIDER=60/m` in a period.

        Raises:
            UsageError: A text is not a limit, or names a provider that the workflow does not ask.
        """
        from strands_cli.engine.effects.provider_limits import read_provider_limits

        read_provider_limits(providers, self.providers)
        return self.planner.check_budgets(budget) if "max_cost_usd" in budget else []

    def budget(self, limits: Mapping[str, float], runs: str, fix: str, journal: StoredJournal) -> Budget:
        """Return the limits of all rows together, with the time that earlier processes worked on them.

        Args:
            limits: By names of `runtime.budgets`; empty for no limit.
            runs: The word for the rows together, for messages.
            fix: How they go on after a limit; `{limit}` is its name.
            journal: Has the facts of the rows together.
        """
        from strands_cli.engine.effects.budget import Budget

        return Budget.of_many(limits, SystemClock(), runs, fix, journal)

    @staticmethod
    def turns(rate: str | None) -> Turns:
        """Return the turns in which rows begin at a rate such as `60/m`, in order of their arrival; None for no limit.

        Raises:
            UsageError: The text is not a rate.
        """
        from strands_cli.engine.effects.provider_limits import Rate, Turns

        return Turns(SystemClock(), rate=None if rate is None else Rate.parse(rate))

    async def last_end(self, journal: StoredJournal, *, again: bool) -> RunEnd | None:
        """Return how the run of a row has ended; None for one that goes on now, and is made ready for that.

        A person's permissions for all rows are stored in it.

        Args:
            journal: That of the run, held.
            again: Whether a run that failed goes on.
        """
        is_widened = store_permissions(journal, self.request)
        end = RunEnd.of(journal)
        if end.status == "waiting":
            goes_on = goes_on_alone(journal, is_widened=is_widened, now=time.time())
        else:
            goes_on = end.goes_on or (again and end.status == "failed")
        if not goes_on:
            return end
        await redo_denied(journal)
        return None

    def row(self, inputs: Mapping[str, Any], request: RunRequest | None = None) -> Plan:
        """Return the plan of a row.

        Args:
            inputs: Those of the row, in their types.
            request: Names the directory of its artifacts, if it has its own.
        """
        out_dir = None if request is None else request.out_dir
        return self.planner.plan({**self.plan.inputs, **inputs}, out_dir=out_dir)

    @contextlib.asynccontextmanager
    async def opened(
        self,
        store: RunStore,
        warn: Callable[[str], None],
        *,
        budget: Budget | None = None,
        providers: Iterable[str] = (),
        retry: Sequence[str] = (),
    ) -> AsyncIterator[RowRuns]:
        """Open the runner of rows in this process, and load the tools and models once.

        So a part missing on this machine is one error, and not one for each row.

        Args:
            warn: Takes warnings of runs.
            budget: Their limits together.
            providers: See `check_limits`.
            retry: The words of the command that runs failed rows again.

        Raises:
            StrandsCliError: A tool, a model or a secret cannot be loaded.
        """
        from strands_cli.agents.assembly import assemble
        from strands_cli.engine.effects.provider_limits import ProviderLimits, read_provider_limits
        from strands_cli.planning.environment import workspace_of

        limits = ProviderLimits.of(read_provider_limits(providers, self.providers), SystemClock())
        async with app.shared_runs(self.plan, budget=budget, provider_limits=limits, retry=retry) as shared:
            redactor = (await shared.secrets(self.plan)).redactor
            workers = await assemble(self.plan, workspace_of(self.plan), shared, self.request, warn)
            await workers.close_with(warn)
            yield RowRuns(self, store, shared, warn, redactor)


class RunParts:
    """The runs of which others consist: a whole, such as a batch, has a journal, and each of its parts is a run.

    Args:
        command: The name of the command that makes and continues the wholes.
    """

    def __init__(self, command: str) -> None:
        self.command = command

    def create(self, rows: PlannedRows, store: RunStore, whole: str) -> StoredJournal:
        """Create the journal of a whole with this id, and hold it.

        Raises:
            RunRecordError: It cannot be created.
        """
        facts = {"pattern": pattern_of_whole(self.command)}
        return create_journal(store, rows.plan, rows.request, whole, further=facts)

    def has(self, journal: StoredJournal) -> bool:
        """Return whether a journal is that of a whole."""
        return command_of(journal.get("pattern")) == self.command

    @staticmethod
    def run(journal: StoredJournal) -> StoredRun:
        """Return the entry of a run in a list of runs.

        Raises:
            RunRecordError: Its facts are damaged.
        """
        return run_of(journal)

    @staticmethod
    def digest(inputs: Mapping[str, Any]) -> str:
        """Return a digest of the inputs, to tell parts apart: 16 hexadecimal digits."""
        return digest_of(inputs)[:DIGEST_CHARS]

    @staticmethod
    def id(whole: str, digest: str) -> str:
        """Return the id of the part with a digest."""
        return part_id(whole, digest)

    @staticmethod
    def whole(run_id: str) -> str | None:
        """Return the id of the whole that a run is a part of; None for a run of its own."""
        return whole_of(run_id)

    @staticmethod
    async def decide(journal: StoredJournal, decisions: Mapping[str, tuple[Any, ...]]) -> list[str]:
        """Store a person's decisions about the cut-off calls of a held run; return the tool of each such call.

        Args:
            decisions: `redo`, `skip` with the result, or `fail`, by the name of the tool.
        """
        return await decide_calls(journal, SystemClock(), decisions)

    @staticmethod
    def cancel(store: RunStore, run_id: str) -> None:
        """Cancel a run for good.

        Raises:
            UsageError: It has ended.
            RunRecordError: There is no such run, or the process that works on it does not end.
        """
        cancel_run(store, run_id, SystemClock())


@dataclasses.dataclass(frozen=True, slots=True)
class RowRuns:
    """Runs rows in this process, all of them with one plan, one catalog and the same model objects.

    Attributes:
        rows: The workflow of the rows.
        store: The store of the runs.
        shared: Their shared parts.
        warn: Takes warnings of runs.
        redactor: Hides the secrets of the workflow.
    """

    rows: PlannedRows
    store: RunStore
    shared: SharedRuns
    warn: Callable[[str], None]
    redactor: Redactor

    async def run(self, run_id: str, inputs: Mapping[str, Any], ended: Ended, *, again: bool = False) -> None:
        """Run a row under an id, or continue the run with that id, until it ends or waits for a person.

        A row that breaks has an end too: only an error that ends the work on all rows is raised.

        Args:
            inputs: Those of the row, in their types.
            ended: Is called once with how far the row came, also where this is cancelled.
            again: Whether a run that failed is continued.
        """
        watch = _Watch(self.warn)
        try:
            end = await self._end(run_id, inputs, watch, again=again)
        except (asyncio.CancelledError, CannotStore):  # the next rows could not be stored either
            ended(watch.interrupted())
            raise
        except Exception as error:  # noqa: BLE001 - a row that breaks, for whatever reason, must not end the others
            end = watch.stopped(error)
        if end.status in ("waiting", "needs-decision") and not end.questions:
            end = dataclasses.replace(end, questions=self._read(run_id, answerable_questions) or ())
        ended(end)

    async def _end(self, run_id: str, inputs: Mapping[str, Any], watch: _Watch, *, again: bool) -> RunEnd:
        try:
            journal = opened_run(self.store, run_id, hold=True)
        except RunRecordError as missing:
            return await self._started(run_id, inputs, watch, missing)
        try:
            if (end := await self.rows.last_end(journal, again=again)) is not None:
                journal.close()
                return end
            request = self._request(run_id, stored_request(journal, {}))
            plan = resumable(self.rows.row(inputs, request), journal)
        except BaseException:
            journal.close()
            raise
        human = NoPerson(denies=self.rows.request.deny)
        result = await app.resume(plan, journal, request, human, watch, shared=self.shared)
        return self._completed(result, watch)

    async def _started(self, run_id: str, inputs: Mapping[str, Any], watch: _Watch, missing: RunRecordError) -> RunEnd:
        request = self._request(run_id, self.rows.request)
        planned, human = self.rows.row(inputs, request), NoPerson(denies=request.deny)
        require_runnable(planned)
        try:
            result = await app.run(planned, request, human, watch, run_id=run_id, shared=self.shared)
        except CannotStore:
            raise
        except RunRecordError as error:
            # The journal exists, and could not be opened: that is the important error for the person.
            raise (error if watch.has_begun else missing) from error
        return self._completed(result, watch)

    def _request(self, run_id: str, request: RunRequest) -> RunRequest:
        """Return the request of a row, whose artifacts have a folder of their own."""
        common = self.rows.request
        out_dir = common.out_dir / run_id
        return dataclasses.replace(request, out_dir=out_dir, fail_on_denied=common.fail_on_denied, tell=self.warn)

    def _completed(self, result: RunResult, watch: _Watch) -> RunEnd:
        has_schema = any(agent.output_schema is not None for agent in self.rows.plan.agents.values())
        return watch.completed(result, self._read(result.run_id, structured_output) if has_schema else None)

    def _read(self, run_id: str, read: Callable[[StoredJournal], Any]) -> Any:
        try:
            journal = self.store.open(run_id, hold=False)
        except RunRecordError:
            return None
        with contextlib.closing(journal):
            return read(journal)


class _Watch:
    """Listens to the events of one row's run.

    Attributes:
        has_begun: Whether the run has a journal.
        finished: The event of its end, once it has come.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._steps = 0
        self.has_begun = False
        self.finished: RunFinished | None = None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, StepFinished):
            self._steps += 1
        elif isinstance(event, RunStarted):
            self.has_begun = True
        elif isinstance(event, RunFinished):
            self.finished = event
        elif isinstance(event, RunWarning):
            self._warn(event.message)

    def completed(self, result: RunResult, output: Any) -> RunEnd:
        """Return the end of a completed run."""
        end = self._spent("completed").with_failures(result.failed_calls, result.failures, result.verdict)
        return dataclasses.replace(end, response=result.response, output=output, artifacts=result.artifacts)

    def stopped(self, error: BaseException) -> RunEnd:
        """Return the end of a run that an error has ended, whatever it is."""
        if isinstance(error, BudgetExceeded) and error.is_of_many:
            return dataclasses.replace(self.interrupted(), exit_code=int(error.exit_code), error=error_document(error))
        if (event := self.finished) is None:
            return RunEnd.of_error(error)
        denials = event.denials if isinstance(error, CallDenied) else ()
        end = self._spent(event.status).with_failures(event.failed_calls, event.failures, event.verdict)
        return dataclasses.replace(
            end,
            exit_code=int(exit_code_of(error)),
            error=error_document(error),
            denied=list(dict.fromkeys(denial.tool for denial in denials)),
        )

    def interrupted(self) -> RunEnd:
        """Return the end of a run that was asked to stop."""
        return dataclasses.replace(self._spent("interrupted"), exit_code=int(ExitCode.INTERRUPTED))

    def _spent(self, status: Any) -> RunEnd:
        """Return an end with the usage of the run, with its earlier processes."""
        if (event := self.finished) is None:
            return RunEnd(status)
        return RunEnd(
            status,
            usage=event.usage,
            cost_usd=event.cost_usd,
            steps=self._steps,
            model_calls=event.model_calls,
            tool_calls=event.tool_calls,
            seconds=event.seconds,
        )
