"""The pipeline: document -> workflow -> plan -> events -> files, one function per verb.

Modules that import the SDK are imported inside functions, so that `validate` and `plan` start without it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.agents.assembly import SharedRuns
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.config import Settings
    from strands_cli.engine.corrected_workflow import Correction
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.effects.provider_limits import ProviderLimits
    from strands_cli.engine.journal.journal_rows import Human
    from strands_cli.engine.plan_execution import RunResult
    from strands_cli.engine.run_facts import Rerun
    from strands_cli.engine.store_port import StoredJournal
    from strands_cli.errors import Finding
    from strands_cli.events import Event
    from strands_cli.planning.machine.installation import Installation
    from strands_cli.planning.plan_builder import Faults
    from strands_cli.planning.plan_values import Plan, PlannedTool
    from strands_cli.planning.row_planner import RowPlanner
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.store_place import StorePlace
    from strands_cli.workflow.model import LoadedWorkflow
    from strands_cli.yaml_files.document_reader import FileSnapshot

    Emit = Callable[[Event], None]


# -- document -> workflow


def load(source: str | Path, text: str | None = None, snapshot: FileSnapshot | None = None) -> LoadedWorkflow:
    """Read a workflow (a file, `-` for standard input, `DIST/NAME`, or `text`), with every finding about it."""
    from strands_cli.workflow.loader import load_spec
    from strands_cli.workflow.packaged_listing import located
    from strands_cli.yaml_files.document_reader import NO_SNAPSHOT, read_document

    if text is None and snapshot is None:
        source, snapshot = located(source)
    return load_spec(read_document(source, text), snapshot or NO_SNAPSHOT)


def check(
    source: str | Path, text: str | None = None, snapshot: FileSnapshot | None = None, catalog: Catalog | None = None
) -> tuple[Finding, ...]:
    """Return every finding about a workflow, and about its names against the tools installed here."""
    from strands_cli.planning.name_checks import check_names

    return check_names(load(source, text, snapshot), catalog).findings


# -- workflow -> plan


def plan(
    source: str | Path | LoadedWorkflow,
    request: RunRequest | None = None,
    installation: Installation | None = None,
    *,
    text: str | None = None,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
) -> Plan:
    """Return the plan of a run; `findings` has everything that prevents it.

    Args:
        source: A workflow, or the path to read it from.
        installation: This installation; None reads it.
        text: The text of a workflow without a file.
        catalog: Replaces the installed tools if `installation` is None.
        settings: Replaces the settings if `installation` is None.

    Raises:
        InvalidInput: The file is not a valid workflow.
        Denied: A policy file is invalid.
    """
    from strands_cli.planning.plan_builder import plan_workflow

    loaded = load(source, text) if isinstance(source, (str, Path)) else source
    return plan_workflow(*_plannable(loaded, request, installation, catalog, settings))


def plan_rows(
    source: str | Path | LoadedWorkflow,
    request: RunRequest | None = None,
    installation: Installation | None = None,
    *,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
) -> RowPlanner:
    """Return the planner of a workflow with other inputs; its `planned` is the plan that `plan` returns.

    Raises:
        InvalidInput: The file is not a valid workflow.
        Denied: A policy file is invalid.
    """
    from strands_cli.planning.plan_builder import row_planner

    loaded = load(source) if isinstance(source, (str, Path)) else source
    return row_planner(*_plannable(loaded, request, installation, catalog, settings))


def _plannable(
    workflow: LoadedWorkflow,
    request: RunRequest | None,
    machine: Installation | None,
    catalog: Catalog | None,
    settings: Settings | None,
) -> tuple[LoadedWorkflow, Installation, Faults, RunRequest]:
    """Return the parts for a plan: the checked workflow, the installation, the check of inputs, and the request."""
    from strands_cli.planning.name_checks import check_names
    from strands_cli.planning.plan_builder import installation_for
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.tools.schema.workflow_inputs import faults_of_inputs

    workflow = workflow if workflow.valid is not None else check_names(workflow, catalog)
    request = request or RunRequest()
    return workflow, machine or installation_for(workflow, request, catalog, settings), faults_of_inputs, request


# -- plan -> events -> files


def shared_runs(
    *plans: Plan,
    budget: Budget | None = None,
    provider_limits: ProviderLimits | None = None,
    worker: str = "",
    retry: Sequence[str] = (),
) -> AbstractAsyncContextManager[SharedRuns]:
    """Return the context shared by runs of one event loop: models with their connections, secrets, and limits.

    Args:
        plans: Plans whose secrets are read at once, for all runs of them and of their rows.
        budget: The limits of all runs together; see `Budget.of_many`.
        provider_limits: How often all runs may ask each provider; see `ProviderLimits.of`.
        worker: The id of the worker that works on them; empty for runs of no worker.
        retry: The words of the command that runs failed ones again, if they are parts of a run.

    Raises:
        NotEquipped: The context is entered, and a secret of a plan has no value.
    """
    from strands_cli.agents.assembly import opened_runs

    return opened_runs(plans, budget, provider_limits, worker=worker, retry=retry)


async def run(
    planned: Plan,
    request: RunRequest,
    human: Human,
    emit: Emit,
    *,
    run_id: str | None = None,
    shared: SharedRuns | None = None,
) -> RunResult:
    """Run a plan: load its tools, create its journal, execute it, and write its artifacts and its recording.

    Args:
        run_id: Its id, where that is known before.
        shared: The shared parts of runs of this event loop.

    Raises:
        StrandsCliError: The run could not start or complete; its effects are in its journal.
    """
    from strands_cli.agents.execution import execute_plan  # imports the SDK

    return await execute_plan(planned, request, human, emit, _new_journal(planned, request, run_id), shared)


# -- stored runs


def open_run(run_id: str, place: StorePlace | None = None, *, hold: bool = True) -> StoredJournal:
    """Open the journal of a stored run; with `hold` no other process can continue it meanwhile.

    Args:
        run_id: Its id, the start of it, or `last`.
        place: Its store; None means the default one.

    Raises:
        RunRecordError: There is no such run, its journal is not usable, or another process holds it.
        UsageError: The run was cancelled.
    """
    from strands_cli.engine.stored_runs.opened import opened_run
    from strands_cli.engine.stored_runs.opened_store import open_store
    from strands_cli.planning.run_request import chosen_place

    with contextlib.closing(open_store(place or chosen_place())) as store:
        return opened_run(store, store.find(run_id), hold=hold)


def plan_resume(
    journal: StoredJournal,
    changes: Mapping[str, Any],
    *,
    budgets: Mapping[str, str] | None = None,
    catalog: Catalog | None = None,
) -> tuple[Plan, RunRequest]:
    """Plan a stored run again as it was planned when it began, from its journal.

    Args:
        journal: The journal of the run, held.
        changes: Fields of `RunRequest` that replace the stored ones.
        budgets: Limits of `runtime.budgets` to raise, as text; they apply from now on.
        catalog: Replaces the installed tools.

    Raises:
        NotEquipped: Python tools of the run are missing.
        StrandsCliError: This installation can no longer run it.
        RunRecordError: The plan differs from the one that the run began with.
        UsageError: A budget cannot be raised as requested.
    """
    from strands_cli.engine.corrected_workflow import resumable, stored_workflow

    request, stored = stored_workflow(journal, changes)
    return resumable(plan(stored, request, catalog=catalog), journal, budgets or {}), request


def plan_correction(
    journal: StoredJournal, corrected: LoadedWorkflow, changes: Mapping[str, Any], catalog: Catalog | None = None
) -> Correction:
    """Plan a stored run with its corrected workflow; nothing is stored yet.

    Raises:
        RunRecordError: The run or this machine is not as it was, or the run cannot continue with that workflow.
        StrandsCliError: The corrected workflow is not valid, or cannot run here.
    """
    from strands_cli.engine.corrected_workflow import correction_of, stored_workflow, without_own_artifacts

    request, stored = stored_workflow(journal, changes)
    before = plan(dataclasses.replace(stored, findings=()), request, catalog=catalog)
    after = without_own_artifacts(plan(corrected, request, catalog=catalog), journal)
    return correction_of(journal, before, after)


async def resume(
    planned: Plan,
    journal: StoredJournal,
    request: RunRequest,
    human: Human,
    emit: Emit,
    shared: SharedRuns | None = None,
) -> RunResult:
    """Continue a stored run from its first unfinished effect; the journal is closed at the end.

    Raises:
        StrandsCliError: The run could not continue or complete; its effects are in its journal.
    """
    from strands_cli.agents.execution import execute_plan  # imports the SDK

    return await execute_plan(planned, request, human, emit, lambda _: journal, shared)


def plan_rerun(
    journal: StoredJournal, from_key: str, changes: Mapping[str, Any], catalog: Catalog | None = None
) -> Rerun:
    """Plan a new run of a stored run's workflow, which reuses the steps before a key.

    Raises:
        NotEquipped: Python tools of the run are neither passed nor installed.
        InvalidInput: The file is no longer a valid workflow.
        UsageError: The run has no such key.
    """
    from strands_cli.engine.run_facts import current_source, require_program, stored_request
    from strands_cli.planning.plan_builder import installation_for

    request = stored_request(journal, changes)
    source, text, snapshot, changed = current_source(journal)
    loaded = load(source, text, snapshot)
    machine = installation_for(loaded, request, catalog)
    require_program(journal, request, installed=machine.catalog.by_name)
    planned = plan(loaded, request, machine)
    return _reusing(journal, planned, request, from_key, changed and f"{source}: {changed}")


def plan_turn(text: str, request: RunRequest, before: StoredJournal | None = None, from_key: str = "") -> Plan | Rerun:
    """Plan a workflow that is a text; with a stored run, a new run that begins with what that one has finished.

    Args:
        text: The workflow; its file is called `<ask>`.
        before: The journal of the stored run, whose workflow has the same steps before the key.
        from_key: The first step that is new.

    Raises:
        InvalidInput: It is not a valid workflow.
        Denied: A policy file is invalid.
    """
    from strands_cli.planning.data_flow.authority import QUESTION

    planned = plan(QUESTION, request, text=text)
    return planned if before is None else _reusing(before, planned, request, from_key, None)


def _reusing(journal: StoredJournal, planned: Plan, request: RunRequest, from_key: str, changed: str | None) -> Rerun:
    """Return a new run that takes over what a stored one has finished before a key."""
    from strands_cli.engine.run_facts import Rerun
    from strands_cli.engine.waiting.questions import rows_before

    last = ["artifacts"] if planned.spec.outputs.artifacts else []
    rows = rows_before(journal, from_key, [*(placed.key for placed in planned.spec.pattern.placed), *last])
    return Rerun(planned, request, rows, {"run": journal.get("id"), "from": from_key}, changed)


async def rerun(new: Rerun, human: Human, emit: Emit, run_id: str | None = None) -> RunResult:
    """Run the plan of `plan_rerun`; it raises like `run`, and where the input of a reused step has changed."""
    from strands_cli.agents.execution import execute_plan  # imports the SDK

    return await execute_plan(
        new.planned, new.request, human, emit, _new_journal(new.planned, new.request, run_id, new)
    )


# -- one tool


def plan_tool(name: str, installation: Installation | None = None, *, locked: bool = False) -> PlannedTool:
    """Return one tool, ready to be called by hand; a call by hand needs no further approval.

    Raises:
        StrandsCliError: No tool has the name, policy or the lock denies it, or this installation cannot run it.
    """
    from strands_cli.planning.machine.installation import read_installation
    from strands_cli.planning.machine.lock_check import require_locked
    from strands_cli.planning.resolve.single_tool import plan_single_tool
    from strands_cli.policy.decision import Policy

    machine = installation or read_installation(policy=Policy())
    machine.require_hooks()
    planned = plan_single_tool(name, machine.catalog, machine.settings, machine.policy.rules, machine.hooks)
    if required_by := machine.policy.lock_required_by(is_asked=locked):
        require_locked(planned, Path.cwd(), machine.catalog, required_by)
    return planned


async def run_tool(
    tool: PlannedTool,
    arguments: Mapping[str, Any],
    installation: Installation | None = None,
    person: Human | None = None,
    emit: Emit | None = None,
    *,
    is_locked: bool = False,
) -> Mapping[str, Any]:
    """Call one tool outside any run, through the permission check.

    Args:
        installation: Its deny rules, the managed file's ask rules and its hook plugins apply.
        person: Answers those, and the tool's own questions.
        emit: Receives the events of the call: its progress, and a warning if the tool's import takes long.
        is_locked: Whether the tool was compared with a lock.
    """
    from strands_cli.agents.assembly import toolbox_caller
    from strands_cli.agents.execution import typed_rules
    from strands_cli.engine.standalone import StandaloneRun

    rules, hooks = (installation.policy.rules, installation.hooks) if installation is not None else ((), None)
    workspace = {"root": str(Path.cwd()), "mounts": {}, "protected": []}
    run = StandaloneRun(person, emit)
    caller = await toolbox_caller([tool], typed_rules(rules), workspace, run.warn, hooks, is_locked=is_locked)
    try:
        return await caller.call_tool(tool, arguments, run.scope())
    finally:
        await caller.close()


# -- shared parts of the verbs


def _new_journal(
    planned: Plan, request: RunRequest, run_id: str | None, reused: Rerun | None = None
) -> Callable[[SharedRuns], StoredJournal]:
    """Return the function that creates the journal of a run; a rerun has its reused rows, and their origin."""
    from strands_cli.engine.run_facts import create_journal

    return lambda shared: create_journal(shared.open_store(planned.store), planned, request, run_id, reused)
