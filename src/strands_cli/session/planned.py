"""Plan a workflow: as its file is now, as a stored run began with it, or as a new run takes over from a stored one."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.catalog import Catalog
from strands_cli.config import Settings, load_settings
from strands_cli.errors import InvalidInput, NotEquipped, has_errors
from strands_cli.hooks.hook_values import HookContext
from strands_cli.planning.build_plan import build_plan, folder_of, require_runnable, with_findings
from strands_cli.planning.lock_check import require_locked, with_lock
from strands_cli.planning.policy_files import load_policy
from strands_cli.planning.resolve.single_tool import plan_single_tool
from strands_cli.planning.run_options import RunOptions
from strands_cli.policy import Policy
from strands_cli.session.hooked import faults_of, hooks_in_force, require_hooks
from strands_cli.workflow.document_reader import read_document
from strands_cli.workflow.file_source import NO_SNAPSHOT, FileSnapshot, place_of
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.loader import load_spec

if TYPE_CHECKING:
    from strands_cli.catalog import ToolRecord
    from strands_cli.engine.ports import Journal
    from strands_cli.hooks.manager import Hooks
    from strands_cli.planning.plan import Plan, PlannedTool


def plan_loaded(
    loaded: Loaded,
    options: RunOptions,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
    kept: FileSnapshot | None = None,
    hooks: Hooks | None = None,
) -> Plan:
    """Return the plan of a workflow that has been read, with every finding about it.

    Raises:
        InvalidInput: it is not a valid workflow, so that there is nothing to plan.
        Denied: a policy file is wrong, so that nothing runs.
    """
    if loaded.spec is None or has_errors(loaded.findings):
        raise InvalidInput(f"{loaded.document.file} is not a valid workflow", findings=loaded.findings)
    settings, kept = settings or load_settings(runs_dir=options.runs_dir), kept or NO_SNAPSHOT
    policy = load_policy(settings, kept.folder or folder_of(loaded.document), options.policy)
    file = loaded.document.file
    hooks = hooks or hooks_in_force(policy, options)
    installed = catalog if catalog is not None else hooks.discover(HookContext(file, policy.rules))
    built = build_plan(
        loaded.spec, loaded.document, installed, settings, options, kept=kept, policy=policy, hooks=hooks
    )
    built = with_findings(built, faults_of(hooks, installed))
    named = {place_of(document.file): document.text for document in loaded.files}
    built = dataclasses.replace(built, files={**built.files, **named})
    # What `validate` can only warn of, planning knows: `undefined-variable` takes the place of the warning.
    built = with_findings(built, [found for found in loaded.findings if found.code != "undeclared-variable"])
    return with_lock(built, installed, policy.lock_required_by(asked=options.locked))


def plan_alone(
    name: str,
    policy: Policy | None = None,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
    *,
    locked: bool = False,
    hooks: Hooks | None = None,
) -> PlannedTool:
    """Return one tool for a call outside any run, held against policy and, where that is asked for, against the lock.

    Raises:
        StrandsCliError: no tool has the name, policy or the lock denies it, or this machine cannot run it.
    """
    policy = policy or Policy()
    hooks = hooks or hooks_in_force(policy, RunOptions())
    catalog = catalog if catalog is not None else hooks.discover(HookContext(rules=policy.rules))
    require_hooks(hooks, catalog)
    planned = plan_single_tool(name, catalog, settings or load_settings(), policy.rules, hooks)
    if required_by := policy.lock_required_by(asked=locked):
        require_locked(planned, Path.cwd(), catalog, required_by)
    return planned


def plan_again(
    journal: Journal,
    options: RunOptions,
    *,
    budgets: Mapping[str, str] | None = None,
    catalog: Catalog | None = None,
    settings: Settings | None = None,
) -> Plan:
    """Plan a stored run as it was planned when it began, from what its record has kept.

    Args:
        journal: The record.
        options: Those of the run (`engine.record.options_of`), with what has been chosen anew.
        budgets: Limits of `runtime.budgets` to raise, as text; they count from now on.
        catalog: The installed tools.
        settings: This machine's settings.

    Raises:
        NotEquipped: a program gave the run tools, and they are not given now.
        StrandsCliError: this machine can no longer run it.
        RunRecordError: the plan is not the one that the run began with.
        UsageError: a budget cannot be raised so.
    """
    from strands_cli.engine.run_facts import kept_files, raised_budgets, require_same

    require_given(journal, options.tools)
    kept = kept_files(journal)
    loaded = load_spec(read_document(journal.get("file"), journal.get("text")), kept)
    planned = plan_loaded(loaded, options, catalog, settings, kept)
    # Warnings were given when the run began; files in the way may be those that it has begun to write.
    writing = journal.row("artifacts") is not None
    standing = [
        finding for finding in planned.findings
        if finding.severity == "error" and not (writing and finding.code == "artifact-exists")
    ]  # fmt: skip
    planned = dataclasses.replace(planned, findings=tuple(standing))
    require_runnable(planned)
    require_same(planned, journal)
    return raised_budgets(planned, journal, budgets or {})


def plan_anew(
    journal: Journal, options: RunOptions, *, catalog: Catalog | None = None, settings: Settings | None = None
) -> tuple[Plan, str | None]:
    """Plan a new run of a stored run's workflow, in the directory of that run.

    Returns:
        The plan, and what has changed about the file since, in words.

    Raises:
        NotEquipped: a program gave the run tools, and they are neither given now nor installed.
        InvalidInput: the file is no longer a valid workflow.
    """
    from strands_cli.engine.run_facts import current_source

    settings = settings or load_settings(runs_dir=options.runs_dir)
    policy = load_policy(settings, None)  # no file of a project switches hook plugins on
    hooks = hooks_in_force(policy, options)
    catalog = catalog if catalog is not None else hooks.discover(HookContext(rules=policy.rules))
    require_given(journal, options.tools, installed=catalog.by_name)
    source, text, kept, changed = current_source(journal)
    loaded = load_spec(read_document(source, text), kept or NO_SNAPSHOT)
    planned = plan_loaded(loaded, options, catalog, settings, kept, hooks)
    return planned, f"{source}: {changed}" if changed else None


def require_given(journal: Journal, tools: Sequence[ToolRecord], installed: Container[str] = ()) -> None:
    """Check that the Python objects that a run has as tools are there again.

    Raises:
        NotEquipped: some are not; the message says which, and the file that each came from.
    """
    here = {record.name for record in tools}
    kept: dict[str, str] = journal.get("given") or {}
    missing = {name: place for name, place in kept.items() if name not in here and name not in installed}
    if missing:
        listed = ", ".join(f"{name} (of {place})" for name, place in missing.items())
        run, names = journal.get("id"), ", ".join(kept)
        raise NotEquipped(
            f"the run {run} has tools that a Python program gave it, and they are not here: {listed}",
            fix=f"go on in that program: Workflow.resume({run!r}, tools=[{names}]), or "
            f"Workflow.rerun({run!r}, KEY, tools=[{names}])",
        )
