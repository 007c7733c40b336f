"""The plan of a loaded workflow with all its findings and its lock, and the plans of it with other inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from strands_cli.errors import Finding
from strands_cli.planning.machine.installation import Installation
from strands_cli.planning.machine.lock_check import with_lock
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.plan_builder import require_valid, resolve_plan
from strands_cli.planning.row_planner import RowPlanner, WholePlan
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.loaded import Loaded
from strands_cli.yaml_files.file_source import stored_name

# Returns what is wrong with the inputs of a plan as one object.
Faults = Callable[[Plan, Loaded], list[Finding]]


def plan_workflow(loaded: Loaded, machine: Installation, faults_of: Faults, request: RunRequest) -> Plan:
    """Return the plan of a workflow on this machine.

    Raises:
        InvalidInput: The file is not a valid workflow.
    """
    return _whole_plan(loaded, machine, faults_of, request).planned


def row_planner(loaded: Loaded, machine: Installation, faults_of: Faults, request: RunRequest) -> RowPlanner:
    """Return the planner of rows of a workflow; its first plan is the one that `plan_workflow` returns.

    Raises:
        InvalidInput: The file is not a valid workflow.
    """
    plan_whole = partial(_whole_plan, loaded, machine, faults_of)
    return RowPlanner(plan_whole(request), request, plan_whole, lambda row: faults_of(row, loaded))


def _whole_plan(loaded: Loaded, machine: Installation, faults_of: Faults, request: RunRequest) -> WholePlan:
    resolved = resolve_plan(require_valid(loaded), loaded.document, machine, request, loaded.snapshot)
    named = {stored_name(document.file): document.text for document in loaded.files}
    built = replace(resolved.plan, files={**resolved.plan.files, **named, **loaded.packages})
    # `validate` can only warn about a variable that may be undeclared; planning knows, and reports it as an error.
    seen = [finding for finding in loaded.findings if finding.code != UNDECLARED_VARIABLE]
    before, faults = [*machine.hook_faults(), *seen], faults_of(built, loaded)
    built = replace(built, findings=tuple(dict.fromkeys((*before, *faults, *built.findings))))
    planned = with_lock(built, machine.catalog, machine.policy.lock_required_by(asked=request.locked))
    if machine.hooks is not None:
        from strands_cli.planning.machine.plan_hooks import check_plan

        problems = check_plan(machine.hooks, planned, loaded.document)
        planned = replace(planned, findings=tuple(dict.fromkeys((*planned.findings, *problems))))
    return WholePlan(planned, resolved, tuple(before), tuple(faults))
