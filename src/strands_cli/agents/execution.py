"""A plan is executed: its tools are loaded, its journal is opened, and the engine runs it with both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.agents.assembly import SharedRuns, Workers, assemble, opened_runs
from strands_cli.engine.effects.spending import RunExpenses, Spending
from strands_cli.engine.journal.journal_rows import Human
from strands_cli.engine.plan_execution import (
    RedactedHuman,
    RunResult,
    WriteArtifacts,
    execute,
    redacted_emit,
    redacted_errors,
    redacted_writer,
)
from strands_cli.engine.ports import Ports, SystemClock
from strands_cli.engine.run_facts import recorded
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.engine.store_port import StoredJournal
from strands_cli.engine.stored_runs.folder_store import session_facts
from strands_cli.engine.stored_runs.run_owners import while_held
from strands_cli.engine.waiting.run_hooks import explain_stop, observed_run, store_permissions
from strands_cli.errors import StrandsCliError
from strands_cli.events import Event, RunWarning
from strands_cli.outputs.artifacts import ArtifactWriter
from strands_cli.planning.environment import workspace_of
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.rule import Rule
from strands_cli.policy.standing_budget import Payer
from strands_cli.secrets.redactor import Redactor
from strands_cli.telemetry.unheard_spans import tracing_of
from strands_cli.workflow.steps import CallStep
from strands_cli.workflow.templates.plugin_filters import import_filters

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Human
    from strands_cli.planning.plan_values import Plan


# Calls that a person makes by hand: the rules that still apply, and the call of a tool that a file declares.


def typed_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules for a call by hand: denials stay, and a managed file's questions are asked."""
    strict = [rule for rule in rules if rule.effect == "deny" or (rule.effect == "ask" and rule.level == "managed")]
    return [*strict, Rule("allow", "*", "command line", "typed by hand")]


async def call_declared(
    plan: Plan, arguments: Mapping[str, Any], person: Human, emit: Callable[[Event], None]
) -> Mapping[str, Any]:
    """Call the tool of a plan's only step, with the servers, settings and secrets that the plan has.

    Raises:
        StrandsCliError: It cannot be loaded, its server does not start, or policy denies it.
    """
    run = StandaloneRun(person, emit)
    require_runnable(plan)
    plan = replace(plan, rules=tuple(typed_rules(plan.policy.rules)))
    async with opened_runs(warn=run.warn) as shared:
        workers = await assemble(plan, workspace_of(plan), shared, tell=run.warn, is_typed=True)
        try:
            (step,) = (placed.step for placed in plan.spec.pattern.placed if isinstance(placed.step, CallStep))
            return await workers.tools.call_tool(plan.call_tools[step.tool], arguments, run.scope())
        finally:
            await workers.close_with(run.warn)


Warn = Callable[[str], None]


async def execute_plan(
    plan: Plan,
    request: RunRequest,
    human: Human,
    emit: Callable[[Event], None],
    open_journal: Callable[[SharedRuns], StoredJournal],
    shared: SharedRuns | None = None,
) -> RunResult:
    """Execute a plan from its first unfinished effect.

    Args:
        open_journal: Called when everything is loaded, so that a run that cannot start leaves no journal.
        shared: The shared parts of runs of this event loop.

    Raises:
        StrandsCliError: The run could not start or complete; its effects are in its journal.
    """
    require_runnable(plan)
    clock = SystemClock()

    def warn(line: str) -> None:
        emit(RunWarning(clock.now(), line))

    async with contextlib.AsyncExitStack() as stack:
        common = shared if shared is not None else await stack.enter_async_context(opened_runs(warn=warn))
        workers = await _load(stack, plan, request, common, warn)
        redactor = workers.redactor
        emit = redacted_emit(emit, redactor)  # `warn` uses it from here on
        for line in workers.warnings:
            warn(line)
        journal, is_continued = _start(stack, open_journal(common), request, common, redactor)
        tracing = await stack.enter_async_context(tracing_of(plan, redactor, warn))
        await stack.enter_async_context(observed_run(plan, journal, redactor, is_continued=is_continued))
        ports = Ports(
            journal,
            workers.agents,
            workers.tools,
            RedactedHuman(human, redactor),
            clock,
            tracing,
            common.budget,
            common.provider_limits,
            _spending(stack, plan, journal, common, is_continued=is_continued),
            journal.place.directory is None,
            request.fail_on_denied,
            request.beside,
            redactor,
        )
        try:
            with recorded(request, journal, warn):
                steps = execute(plan, ports, journal.run_id, emit, _writer(plan, request, redactor))
                result = await while_held(journal, steps)
        except StrandsCliError as error:
            await explain_stop(error, plan, journal, redactor, common.retry)
            raise
        return redactor.record(result)


async def _load(
    stack: contextlib.AsyncExitStack, plan: Plan, request: RunRequest, shared: SharedRuns, warn: Warn
) -> Workers:
    """Load the tools and the agents of a run; they are closed at its end, and no error of it holds a secret."""
    import_filters((plan.text, *plan.files.values()))
    tell = None if request.python_tools is not None else warn
    workers = await assemble(plan, workspace_of(plan, request.beside), shared, request, tell)
    stack.enter_context(redacted_errors(workers.redactor))
    stack.push_async_callback(workers.close_with, warn)
    return workers


def _start(
    stack: contextlib.AsyncExitStack,
    journal: StoredJournal,
    request: RunRequest,
    shared: SharedRuns,
    redactor: Redactor,
) -> tuple[StoredJournal, bool]:
    """Store the facts of this start of the run: where `stop` finds the process, and the calls that a person allows.

    Returns: The journal, closed at the end, and whether an earlier process has worked on the run.
    """
    stack.callback(journal.close)
    is_continued = journal.get("pid") is not None
    is_visit = journal.get("status") == "completed"  # it changes nothing
    journal.put(**session_facts(None if is_visit else request.beside, shared.worker))
    store_permissions(journal, request)
    journal.redactor = redactor  # only now: the first facts have no secret, and must stay as planned
    return journal, is_continued


def _spending(
    stack: contextlib.AsyncExitStack, plan: Plan, journal: StoredJournal, shared: SharedRuns, *, is_continued: bool
) -> Spending:
    """Return what a run has spent; until its end, the ledger of its store has it from here where policy limits that."""
    expenses = RunExpenses(journal.rows("model") if is_continued else ())
    user, budgets = str(journal.get("user") or ""), plan.policy.budgets
    ledger = shared.ledger(plan.store) if budgets else None
    if ledger is not None:
        ledger.begin(journal.run_id, Payer(plan.spec.name, "", user), expenses)
        stack.callback(ledger.end, journal.run_id)
    return Spending(SystemClock(), plan.spec.name, user, expenses, budgets, ledger)


def _writer(plan: Plan, request: RunRequest, redactor: Redactor) -> WriteArtifacts:
    """Return the writer of the run's artifacts, which get no secrets."""
    replaces = plan.spec.outputs.overwrite
    write = ArtifactWriter(request.out_dir, force=request.force, replaces=replaces, beside=request.beside)
    return redacted_writer(write, redactor)
