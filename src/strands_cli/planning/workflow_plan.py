"""The plan of a loaded workflow with all its findings and its lock, and the plans of it with other inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from strands_cli.errors import Finding, has_errors
from strands_cli.planning.machine.installation import Installation
from strands_cli.planning.machine.lock_check import compare_with_lock
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.plan_builder import require_valid, resolve_workflow
from strands_cli.planning.row_planner import RowPlanner, WholePlan
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec

# Returns what is wrong with the inputs of a workflow as one object.
Faults = Callable[[WorkflowSpec, Mapping[str, Any], Loaded], list[Finding]]


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
    plan_whole, spec = partial(_whole_plan, loaded, machine, faults_of), require_valid(loaded)
    return RowPlanner(plan_whole(request), request, plan_whole, lambda inputs: faults_of(spec, inputs, loaded))


def _whole_plan(loaded: Loaded, machine: Installation, faults_of: Faults, request: RunRequest) -> WholePlan:
    require_valid(loaded)
    resolved = resolve_workflow(loaded, machine, request)
    workflow, catalog = resolved.workflow, machine.catalog
    # `validate` can only warn about a variable that may be undeclared; planning knows, and reports it as an error.
    seen = [finding for finding in loaded.findings if finding.code != UNDECLARED_VARIABLE]
    before = (*machine.hook_faults(), *seen)
    faults = () if has_errors(resolved.findings) else tuple(faults_of(workflow.spec, workflow.inputs, loaded))
    findings = tuple(dict.fromkeys((*before, *faults, *resolved.findings)))
    lock = compare_with_lock(workflow, findings, catalog, machine.policy.lock_required_by(asked=request.locked))
    of_plugins: list[Finding] = []
    if machine.hooks is not None:
        from strands_cli.planning.machine.plan_hooks import check_plan

        of_plugins = check_plan(machine.hooks, workflow, loaded.document)
    planned = workflow.planned((*findings, *lock.findings, *of_plugins), lock)
    return WholePlan(planned, resolved, before, faults)
