"""Build the plan of a workflow: everything resolved and checked at once, nothing imported, nothing called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.config import read_settings
from strands_cli.errors import (
    ArtifactError,
    Code,
    Denied,
    Finding,
    InvalidInput,
    NotEquipped,
    StrandsCliError,
    UsageError,
    few_of_each,
    has_errors,
)
from strands_cli.parts.named_parts import NamingFolder
from strands_cli.parts.named_providers import provider_by_name, provider_named
from strands_cli.planning.agent_models import (
    check_choices,
    check_models,
    planned_agent,
    tools_for_calls,
    tools_of_steps,
    with_runtime_of,
)
from strands_cli.planning.data_flow.secret_values import check_data_flow, with_unnamed_secrets
from strands_cli.planning.environment import check_limits, check_mounts, prices_of
from strands_cli.planning.machine.installation import Installation, read_installation
from strands_cli.planning.machine.lock_check import compare_with_lock
from strands_cli.planning.machine.rules_in_force import check_rules, rules_of
from strands_cli.planning.plan_values import (
    Bounds,
    FilePlaces,
    Plan,
    PlannedAgent,
    PlannedStep,
    PlannedTool,
    ResolvedWorkflow,
    Skills,
    WorkflowTool,
    agents_in,
    called_by,
    definitions_in,
    places_of,
    with_parts,
    workflows_in,
)
from strands_cli.planning.recording_checks import check_context, check_recordings, recorded_texts
from strands_cli.planning.resolve.resolve_context import ResolveContext, Surroundings, skill_files
from strands_cli.planning.resolve.tool_resolver import ToolResolver
from strands_cli.planning.row_planner import (
    InputPlanner,
    RowPlanner,
    RowWorkflow,
    WholePlan,
    bounds_of,
    digest_of_plan,
    of_attachments,
    planned_steps,
)
from strands_cli.planning.run_request import RunRequest, store_place_of
from strands_cli.texts.canonical_json import canonical_json, digest_of
from strands_cli.texts.phrases import counted
from strands_cli.user_files.policy_files import read_policies
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import folder_of, stored_name

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.config import Settings
    from strands_cli.provider_table import Provider
    from strands_cli.workflow.model import LoadedWorkflow
    from strands_cli.workflow.sections import ModelEntry, Runtime


# `${NAME}` and `${NAME:-default}` in the texts of `runtime`: values that differ from machine to machine.


UNSET_VARIABLE = Code(
    "unset-variable",
    "`runtime` names an environment variable that is not set, and no default.",
    "Set it, or write a default: ${NAME:-default}.",
    18,
)
BAD_VARIABLE = Code(
    "bad-variable",
    "A `${...}` in `runtime` is malformed, or names what looks like a secret.",
    "Write ${NAME} or ${NAME:-default}; providers take their keys by themselves.",
)

FIELDS = ("provider", "model_id", "region", "host")
_OF_SECRET = re.compile(r"\$\{secrets\.[^{}]+\}")
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}$]*))?\}")
# The settings are shown, stored and sent; a workflow must not be able to send a key to a host that it names.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)


def with_environment(
    spec: WorkflowSpec, document: Document, environ: Mapping[str, str]
) -> tuple[WorkflowSpec, list[Finding]]:
    """Return a workflow whose runtime has the values of the environment, and the faults of its variables.

    As in a shell, `${NAME:-default}` is the default also where the variable is empty.
    """
    runtime = spec.runtime
    if not any("${" in text for text in _texts_of_runtime(spec)):
        return spec, []
    changed, findings = ({}, []) if runtime.models else _substituted(runtime, "/runtime", document, environ)
    if runtime.models:
        entries = []
        for number, entry in enumerate(runtime.models):
            of_entry, more = _substituted(entry, f"/runtime/models/{number}", document, environ)
            entries.append(entry.model_copy(update=of_entry).split())
            findings += more
        changed = {**{field: getattr(entries[0], field) for field in FIELDS}, "models": tuple(entries)}
    return spec.model_copy(update={"runtime": runtime.model_copy(update=changed)}), findings


def _substituted(
    holder: Runtime | ModelEntry, pointer: str, document: Document, environ: Mapping[str, str]
) -> tuple[dict[str, Any], list[Finding]]:
    """Return the fields with variables as their values make them, and the faults of the variables."""
    changed: dict[str, Any] = {}
    findings: list[Finding] = []
    for field in FIELDS:
        text = getattr(holder, field)
        if text is not None and "${" in text:
            changed[field] = _VARIABLE.sub(lambda match: _value(match, environ) or "", text)
            findings += _findings(text, f"{pointer}/{field}", document, environ)
    return changed, findings


def _texts_of_runtime(spec: WorkflowSpec) -> list[str]:
    holders = (spec.runtime, *spec.runtime.models)
    return [getattr(holder, field) or "" for holder in holders for field in FIELDS]


def variables_in(spec: WorkflowSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values that `runtime` takes from the environment, by the names of the variables."""
    matches = [match for text in _texts_of_runtime(spec) for match in _VARIABLE.finditer(text)]
    return {match["name"]: value for match in matches if (value := _value(match, environ)) is not None}


def _value(match: re.Match[str], environ: Mapping[str, str]) -> str | None:
    if _SECRET.search(match["name"]):
        return None
    return environ.get(match["name"]) or match["default"]


def _findings(text: str, pointer: str, document: Document, environ: Mapping[str, str]) -> list[Finding]:
    where, field = document.where(pointer), pointer.rpartition("/")[2]
    findings = []
    if "${" in _VARIABLE.sub("", _OF_SECRET.sub("", text)):
        message = f"`runtime.{field}` has a malformed variable: {text!r}"
        findings.append(Finding(BAD_VARIABLE, message, where, "write ${NAME} or ${NAME:-default}"))
    for match in _VARIABLE.finditer(text):
        name = match["name"]
        if _SECRET.search(name):
            message = f"`runtime.{field}` names ${{{name}}}, which looks like a secret"
            fix = f"use a variable whose name is not that of a secret, or write the value into `{field}`"
            findings.append(Finding(BAD_VARIABLE, message, where, fix))
        elif _value(match, environ) is None:
            message = f"`runtime.{field}` needs the environment variable {name}, which is not set"
            fix = f"export {name}=..., or write a default: ${{{name}:-default}}"
            findings.append(Finding(UNSET_VARIABLE, message, where, fix))
    return findings


_ERRORS: dict[int, type[StrandsCliError]] = {
    3: InvalidInput,
    21: Denied,
    2: UsageError,
    12: ArtifactError,
    18: NotEquipped,
}


def build_plan(
    workflow: LoadedWorkflow, machine: Installation, request: RunRequest, around: Surroundings | None = None
) -> Plan:
    """Return the plan of a valid workflow as far as the workflow alone decides it: no lock is read, no plugin asked."""
    resolved = resolve_workflow(workflow, machine, request, around)
    return resolved.workflow.planned(resolved.findings)


def resolve_workflow(
    loaded: LoadedWorkflow, machine: Installation, request: RunRequest, around: Surroundings | None = None
) -> RowWorkflow:
    """Resolve a valid workflow; the findings are its faults, for which `require_runnable` raises.

    Args:
        machine: This machine; of its environment it takes the presence of keys, and the variables that `runtime` names.
        around: The workflow that this one is a tool of, and its rules; its inputs come with each call.
    """
    document, snapshot, environ, policy = loaded.document, loaded.snapshot, machine.environ, machine.policy
    spec, unset = with_environment(written := loaded.spec or require_valid(loaded), document, environ)
    spec, base_dir = with_runtime_of(spec, request, is_tool=around is not None), snapshot.folder or folder_of(document)
    around = around or Surroundings(base_dir, request, environ, snapshot, policy, policy.rules)
    rules = rules_of(spec, request, document, machine.catalog, replace(policy, rules=around.rules))
    context = ResolveContext(spec, document, machine.catalog, rules, machine.settings, machine.hooks, around)
    resolver = ToolResolver(context, planned_agent, planned_workflow, request.tools)
    planner = InputPlanner(spec, document, is_tool=around.is_tool)
    inputs, of_inputs = planner.inputs(request)
    agents = resolver.composed.agents()
    overrides, of_steps = tools_of_steps(spec, resolver)
    call_tools = tools_for_calls(of_steps, agents, resolver)
    called = called_by(agents, overrides, call_tools)
    places = places_of(spec, Path.cwd() if snapshot.packaged else base_dir)
    files = None if request.as_written else FilePlaces.of(spec, base_dir, request.beside, places)
    steps = planned_steps(spec, inputs, agents, overrides, of_steps, files=files)
    of_inputs += of_attachments(steps, agents, document)
    prices, unpriced = prices_of(environ)
    with_secrets, unnamed = with_unnamed_secrets(spec, called, document)
    workflow = ResolvedWorkflow(
        spec=with_secrets,
        file=document.file,
        text=document.text,
        base_dir=base_dir,
        inputs=inputs,
        agents=agents,
        call_tools=call_tools,
        override_tools=overrides,
        steps=steps,
        rules=rules,
        bounds=_bounds(spec, steps, called, call_tools),
        digest=digest_of_plan(inputs, rest := _digested(spec, agents, called)),
        prices=prices,
        files=_texts(loaded, agents, called, resolver),
        policy=policy,
        hooks=machine.hooks,
        store=store_place_of(machine.settings),
        is_complete=context.is_complete,
        places=places,
        variables=variables_in(written, environ),
        packaged=snapshot.packaged,
        host_is_typed=bool(request.host),
        of_others=snapshot.of_others,
        **_names_of_user(loaded, called),
    )
    of_models = _model_findings(workflow, document, machine, request, unset)
    unpriced = unpriced or list(check_limits(spec, agents, prices, document, called, around))
    checked = [*policy.findings, *unpriced, *_check_workflow(workflow, document, machine, request, around)]
    of_flow = check_data_flow(workflow, document, environ, unnamed, len(spec.env.secrets), is_tool=around.is_tool)
    findings = few_of_each([*of_inputs, *unset, *of_models, *context.findings, *checked, *of_flow])
    return RowWorkflow(workflow, findings, planner, tuple(of_inputs), rest)


def _names_of_user(loaded: LoadedWorkflow, called: Sequence[PlannedTool]) -> dict[str, Any]:
    """Return the user's default model and aliases, where a workflow here takes its models from them."""
    parts = [other.plan for other in workflows_in(called).values()]
    default = loaded.default_model or next((part.default_model for part in parts if part.default_model), "")
    aliases = {name: model for part in parts for name, model in part.aliases.items()}
    return {"default_model": default, "aliases": {**aliases, **loaded.aliases}}


def _bounds(
    spec: WorkflowSpec,
    steps: tuple[PlannedStep, ...],
    called: Sequence[PlannedTool],
    call_tools: Mapping[str, PlannedTool],
) -> Bounds:
    calls = {step.who for step in steps if step.kind == "call"}
    leads_on = any(tool.is_composed for tool in called)
    return bounds_of(spec, steps, leads_on=leads_on, calls_others=len(call_tools) > len(calls))


def _texts(
    workflow: LoadedWorkflow, agents: Mapping[str, PlannedAgent], called: Sequence[PlannedTool], resolver: ToolResolver
) -> dict[str, str]:
    """Return the texts of the files that a workflow is made from besides its own, by `stored_name`."""
    inner = [file for other in workflows_in(called).values() for file in other.plan.files.items()]
    read = {stored_name(document.file): document.text for document in workflow.files}
    recordings, skills = recorded_texts(agents, workflow.snapshot), skill_files(resolver.workflow_tools)
    return {**recordings, **skills, **dict(inner), **read, **workflow.packages}


def _model_findings(
    workflow: ResolvedWorkflow, document: Document, machine: Installation, request: RunRequest, unset: Sequence[Finding]
) -> list[Finding]:
    """Return the faults of the models; with an unset variable there is no setting to check.

    It comes before the check of the flow of data, which depends on the claims of a distribution's provider.
    """
    models = {} if unset else {name: agent.models for name, agent in workflow.agents.items()}
    return check_models(models, document, machine.environ, _providers_for(workflow, machine, request), request)


def _providers_for(
    workflow: ResolvedWorkflow, machine: Installation, request: RunRequest
) -> Callable[[str], Provider | None]:
    """Return the finder of a provider by its name: one of a distribution is imported only for a run or its plan."""
    if not machine.imports_providers:
        return provider_by_name
    policy = replace(workflow.policy, rules=workflow.rules)
    return partial(provider_named, policy=policy, lock=NamingFolder(workflow.project, request.locked))


def _check_workflow(
    workflow: ResolvedWorkflow, document: Document, machine: Installation, request: RunRequest, around: Surroundings
) -> Iterator[Finding]:
    """Yield the faults of a resolved workflow."""
    spec, agents, outer = workflow.spec, workflow.agents, around.recording
    playing = {
        name: agent.recording
        for name, agent in agents.items()
        if agent.model.provider == "replay" and (outer is None or agent.recording != outer)
    }
    if not agents and not around.is_tool and not any(agents_in(workflow.called())):
        yield from check_choices(request, document)
    yield from check_recordings(spec, playing, document, around.snapshot)
    yield from check_context(spec, agents, document)
    rules = around.rules if around.is_tool else ()
    own_rules = [rule for rule in workflow.rules if not any(rule is own for own in rules)]
    yield from check_rules(spec, document, own_rules, list(with_parts(workflow.called())), machine.catalog)
    yield from check_mounts(spec, document, workflow.project, workflow.places)
    if around.is_tool and spec.outputs.artifacts:
        message = f"{document.file} is called as a tool, and then writes no artifacts"
        fix = "write them by the workflow that calls it"
        yield Finding(NO_EFFECT, message, document.where("/outputs/artifacts", key=True), fix, "warning")


def require_valid(workflow: LoadedWorkflow) -> WorkflowSpec:
    """Return a workflow that was read without errors.

    Raises:
        InvalidInput: The file is not a valid workflow.
    """
    if (spec := workflow.valid) is None:
        raise InvalidInput(f"{workflow.document.file} is not a valid workflow", findings=workflow.findings)
    return spec


def installation_for(
    workflow: LoadedWorkflow, request: RunRequest, catalog: Catalog | None = None, settings: Settings | None = None
) -> Installation:
    """Read this machine for a valid workflow, with the policy file of its folder.

    Raises:
        InvalidInput: The file is not a valid workflow.
        Denied: A policy file is invalid.
    """
    require_valid(workflow)
    folder, policy = workflow.snapshot.folder or folder_of(workflow.document), None
    settings = settings or read_settings(runs_dir=request.runs_dir, store=request.store)
    if workflow.snapshot.packaged:
        # The rules of the caller's folder hold; those of the package can only restrict.
        policy, folder = read_policies(settings, Path.cwd(), request.policy, folder), Path.cwd()
    return read_installation(
        request, folder, file=workflow.document.file, policy=policy, catalog=catalog, settings=settings
    )


def require_runnable(plan: Plan) -> None:
    """Raise for the errors among a plan's findings.

    Raises:
        StrandsCliError: of the kind that the person must act on who can do the most about it: the file's author
            first (3), then policy (21), usage (2), output files (12), this machine (18); all findings come with it.
    """
    if not has_errors(plan.findings):
        return
    codes = {finding.code.exit_code for finding in plan.findings if finding.severity == "error"}
    kind = next((error for code, error in _ERRORS.items() if code in codes), InvalidInput)
    count = sum(finding.count for finding in plan.findings if finding.severity == "error")
    raise kind(f"{plan.file} cannot run: {counted(count, 'problem')}", findings=plan.findings)


def planned_workflow(workflow: LoadedWorkflow, outer: ResolveContext, around: Surroundings) -> Plan:
    """Return the plan of a workflow as a tool of another."""
    machine = Installation(outer.catalog, outer.settings, around.policy, outer.hooks, around.environ)
    return build_plan(workflow, machine, around.options, around)


def _digested(spec: WorkflowSpec, agents: Mapping[str, PlannedAgent], tools: Sequence[PlannedTool]) -> str:
    """Return a digest of all that the run depends on but its inputs: the workflow with its files, models and tools."""
    workflow_tools = [tool for tool in tools if isinstance(tool, WorkflowTool)]
    inside = {tool.ref: [(part.name, part.describe()) for part in with_parts([tool])] for tool in workflow_tools}
    parts = {file: inner.plan.digest for file, inner in workflows_in(tools).items()}
    definitions = definitions_in(tools, of_others=False)
    skills = {
        folder.id: digest_of(folder.texts)
        for definition in definitions
        if isinstance(definition, Skills)
        for folder in definition.folders
    }
    return canonical_json(
        {
            **({"skills": skills} if skills else {}),
            # Only where there are any, as above.
            **({"inside": inside, "workflows": sorted(parts.values())} if inside else {}),
            # Without defaults: a field that a later version adds must not make older runs another workflow's.
            "spec": spec.model_dump(mode="json", by_alias=True, exclude_defaults=True),
            "models": {agent.id: astuple(agent.model) for agent in agents.values()},
            **({"alternates": alternates} if any((alternates := _alternates_of(agents)).values()) else {}),
            "tools": {agent.id: [(tool.name, tool.describe()) for tool in agent.tools] for agent in agents.values()},
        }
    )


def _alternates_of(agents: Mapping[str, PlannedAgent]) -> dict[str, list[Any]]:
    return {agent.id: [astuple(alternate) for alternate in agent.alternates] for agent in agents.values()}


# The plan of a loaded workflow with all its findings and its lock, and the plans of it with other inputs.


# Returns the faults of the inputs of a workflow as one object.
Faults = Callable[[WorkflowSpec, Mapping[str, Any], LoadedWorkflow], list[Finding]]


def plan_workflow(workflow: LoadedWorkflow, machine: Installation, faults_of: Faults, request: RunRequest) -> Plan:
    """Return the plan of a workflow on this machine.

    Raises:
        InvalidInput: The file is not a valid workflow.
    """
    return _whole_plan(workflow, machine, faults_of, request).planned


def row_planner(workflow: LoadedWorkflow, machine: Installation, faults_of: Faults, request: RunRequest) -> RowPlanner:
    """Return the planner of rows of a workflow; its first plan is the one that `plan_workflow` returns.

    Raises:
        InvalidInput: The file is not a valid workflow.
    """
    plan_whole, spec = partial(_whole_plan, workflow, machine, faults_of), require_valid(workflow)
    return RowPlanner(plan_whole(request), request, plan_whole, lambda inputs: faults_of(spec, inputs, workflow))


def _whole_plan(loaded: LoadedWorkflow, machine: Installation, faults_of: Faults, request: RunRequest) -> WholePlan:
    require_valid(loaded)
    resolved = resolve_workflow(loaded, machine, request)
    workflow, catalog = resolved.workflow, machine.catalog
    # `validate` can only warn about a variable that may be undeclared; planning knows, and reports it as an error.
    loaded_findings = [finding for finding in loaded.findings if finding.code != UNDECLARED_VARIABLE]
    before = (*machine.hook_faults(), *loaded_findings)
    faults = () if has_errors(resolved.findings) else tuple(faults_of(workflow.spec, workflow.inputs, loaded))
    findings = tuple(dict.fromkeys((*before, *faults, *resolved.findings)))
    lock = compare_with_lock(workflow, findings, catalog, machine.policy.lock_required_by(is_asked=request.locked))
    of_plugins: list[Finding] = []
    if machine.hooks is not None:
        from strands_cli.planning.machine.plan_hooks import check_plan

        of_plugins = check_plan(machine.hooks, workflow, loaded.document)
    plan = workflow.planned((*findings, *lock.findings, *of_plugins), lock)
    return WholePlan(plan, resolved, before, faults)
