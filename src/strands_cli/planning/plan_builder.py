"""Build the plan of a workflow: everything resolved and checked at once, nothing imported, nothing called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.config import load_settings
from strands_cli.errors import (
    ArtifactError,
    Denied,
    Finding,
    InvalidInput,
    NotEquipped,
    StrandsCliError,
    UsageError,
    few_of_each,
    has_errors,
)
from strands_cli.parts.named_parts import NamedIn
from strands_cli.parts.named_providers import provider_by_name, provider_named
from strands_cli.planning.agent_models import check_choices, check_models, with_runtime_of
from strands_cli.planning.checks.context_checks import check_context
from strands_cli.planning.checks.environment import check_limits, check_mounts, prices_of
from strands_cli.planning.checks.recording_checks import check_recordings, recorded_texts
from strands_cli.planning.data_flow.data_flow_checks import checked_data_flow
from strands_cli.planning.environment_values import variables_in, with_environment
from strands_cli.planning.machine.installation import Installation, read_installation
from strands_cli.planning.machine.rules_in_force import check_rules, rules_of
from strands_cli.planning.plan.places import places_of
from strands_cli.planning.plan.plan_values import Bounds, Plan, PlannedAgent, PlannedTool, Skills, WorkflowTool
from strands_cli.planning.planned_agents import planned_agent, tools_for_calls, tools_of_steps
from strands_cli.planning.planned_steps import bounds_of, planned_steps
from strands_cli.planning.resolve.planned_skills import skill_files
from strands_cli.planning.resolve.resolve_context import ResolveContext, Surroundings
from strands_cli.planning.resolve.tool_resolver import ToolResolver
from strands_cli.planning.row_planner import InputPlanner, Resolved, digest_of_plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.store_choice import store_place_of
from strands_cli.planning.workflow_tools.tool_parts import agents_in, definitions_in, with_parts, workflows_in
from strands_cli.texts.canonical_json import canonical_json, digest_of
from strands_cli.texts.phrases import counted
from strands_cli.user_files.policy_files import load_policy
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.file_source import NO_SNAPSHOT, FileSnapshot, folder_of

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.config import Settings
    from strands_cli.provider_table import Provider
    from strands_cli.workflow.loaded import Loaded

_ERRORS: dict[int, type[StrandsCliError]] = {
    3: InvalidInput,
    21: Denied,
    2: UsageError,
    12: ArtifactError,
    18: NotEquipped,
}


def build_plan(
    spec: WorkflowSpec,
    document: Document,
    machine: Installation,
    request: RunRequest,
    snapshot: FileSnapshot = NO_SNAPSHOT,
    around: Surroundings | None = None,
) -> Plan:
    """Resolve a workflow into a plan, as `resolve_plan`."""
    return resolve_plan(spec, document, machine, request, snapshot, around).plan


def resolve_plan(
    spec: WorkflowSpec,
    document: Document,
    machine: Installation,
    request: RunRequest,
    snapshot: FileSnapshot = NO_SNAPSHOT,
    around: Surroundings | None = None,
) -> Resolved:
    """Resolve a workflow into a plan, whose findings say what is wrong with it; `require_runnable` raises for them.

    Args:
        document: The file it was read from, for places.
        machine: This machine; of its environment it takes the presence of keys, and what `runtime` names.
        request: What the person wants of the run.
        snapshot: The workflow's folder and files, where a run has stored them.
        around: The workflow that this one is a tool of, and its rules; its inputs come with each call.
    """
    environ, policy = machine.environ, machine.policy
    variables = variables_in(spec, environ)
    spec, unset = with_environment(spec, document, environ)
    spec, base_dir = with_runtime_of(spec, request), snapshot.folder or folder_of(document)
    around = around or Surroundings(base_dir, request, environ, snapshot, policy, policy.rules)
    rules = rules_of(spec, request, document, machine.catalog, replace(policy, rules=around.rules))
    context = ResolveContext(spec, document, machine.catalog, rules, machine.settings, machine.hooks, around)
    resolver = ToolResolver(context, planned_agent, planned_workflow, request.tools)
    planner = InputPlanner(spec, document, is_tool=around.is_tool)
    inputs, of_inputs = planner.inputs(request)
    agents = resolver.composed.agents()
    overrides, call_tools = tools_of_steps(spec, resolver)
    plan = Plan(
        spec=spec,
        file=document.file,
        text=document.text,
        base_dir=base_dir,
        inputs=inputs,
        agents=agents,
        call_tools=tools_for_calls(call_tools, agents, resolver),
        override_tools=overrides,
        steps=planned_steps(spec, inputs, agents, overrides, call_tools, as_written=request.as_written),
        rules=rules,
        bounds=Bounds(None, None, None),
        digest="",
        files={**recorded_texts(agents, snapshot), **skill_files(resolver.workflow_tools)},
        policy=policy,
        hooks=machine.hooks,
        store=store_place_of(machine.settings),
        is_complete=context.is_complete,
        places=places_of(spec, Path.cwd() if snapshot.packaged else base_dir),
        variables=variables,
        packaged=snapshot.packaged,
        host_is_typed=bool(request.host),
        of_others=snapshot.of_others,
    )
    plan, rest = _with_what_tools_hold(plan)
    plan, unpriced = _priced(plan, document, environ)
    of_models = _model_findings(plan, document, machine, request, unset)
    plan, of_flow = checked_data_flow(plan, document, environ, is_tool=around.is_tool)
    checked = [*policy.findings, *unpriced, *_check_plan(plan, document, machine, request, around), *of_flow]
    findings = [*of_inputs, *unset, *of_models, *context.findings, *checked]
    return Resolved(replace(plan, findings=few_of_each(findings)), planner, tuple(of_inputs), rest)


def _model_findings(
    plan: Plan, document: Document, machine: Installation, request: RunRequest, unset: Sequence[Finding]
) -> list[Finding]:
    """Return what is wrong with the models; with an unset variable there is no setting to check.

    It comes before the flow of data is checked, which depends on what a distribution's provider declares.
    """
    models = {} if unset else {name: agent.model for name, agent in plan.agents.items()}
    return check_models(models, document, machine.environ, _providers_for(plan, machine, request), request)


def _providers_for(plan: Plan, machine: Installation, request: RunRequest) -> Callable[[str], Provider | None]:
    """Return what finds a provider by its name: one of a distribution is imported only for a run or its plan."""
    if not machine.imports_providers:
        return provider_by_name
    policy = replace(plan.policy, rules=plan.rules)
    return partial(provider_named, policy=policy, lock=NamedIn(plan.project, request.locked))


def _with_what_tools_hold(plan: Plan) -> tuple[Plan, str]:
    """Return a plan with its bounds, its digest, and the texts of the workflows that are its tools.

    Returns:
        The plan, and what its digest depends on besides the inputs.
    """
    called = plan.called()
    rest = _digested(plan.spec, plan.agents, called)
    parts = [file for inner in workflows_in(called).values() for file in inner.plan.files.items()]
    plan = replace(
        plan,
        bounds=bounds_of(
            plan.spec,
            plan.steps,
            leads_on=any(tool.is_composed for tool in called),
            calls_others=len(plan.call_tools) > len({step.who for step in plan.steps if step.kind == "call"}),
        ),
        digest=digest_of_plan(plan.inputs, rest),
        files={**plan.files, **dict(parts)},
    )
    return plan, rest


def _priced(plan: Plan, document: Document, environ: Mapping[str, str]) -> tuple[Plan, list[Finding]]:
    """Return a plan with the prices that hold here, and what is wrong with them."""
    prices, findings = prices_of(environ)
    findings = findings or list(check_limits(plan.spec, plan.agents, prices, document, plan.called()))
    return replace(plan, prices=prices), findings


def _check_plan(
    plan: Plan, document: Document, machine: Installation, request: RunRequest, around: Surroundings
) -> Iterator[Finding]:
    """Yield what is wrong with a plan that has been resolved."""
    spec, agents, outer = plan.spec, plan.agents, around.recording
    playing = {
        name: agent.recording
        for name, agent in agents.items()
        if agent.model.provider == "replay" and (outer is None or agent.recording != outer)
    }
    if not agents and not around.is_tool and not any(agents_in(plan.called())):
        yield from check_choices(request, document)
    yield from check_recordings(spec, playing, document, around.snapshot)
    yield from check_context(spec, agents, document)
    known = around.rules if around.is_tool else ()
    own_rules = [rule for rule in plan.rules if not any(rule is one for one in known)]
    yield from check_rules(spec, document, own_rules, list(with_parts(plan.called())), machine.catalog)
    yield from check_mounts(spec, document, plan.project, plan.places)
    if around.is_tool and spec.outputs.artifacts:
        message = f"{document.file} is called as a tool, and then writes no artifacts"
        fix = "write them by the workflow that calls it"
        yield Finding(NO_EFFECT, message, document.where("/outputs/artifacts", key=True), fix, "warning")


def require_valid(loaded: Loaded) -> WorkflowSpec:
    """Return a workflow that was read without errors.

    Raises:
        InvalidInput: The file is not a valid workflow.
    """
    if (spec := loaded.valid) is None:
        raise InvalidInput(f"{loaded.document.file} is not a valid workflow", findings=loaded.findings)
    return spec


def installation_for(
    loaded: Loaded, request: RunRequest, catalog: Catalog | None = None, settings: Settings | None = None
) -> Installation:
    """Read this machine for a valid workflow, with the policy file of its folder.

    Raises:
        InvalidInput: The file is not a valid workflow.
        Denied: A policy file is invalid.
    """
    require_valid(loaded)
    folder, policy = loaded.snapshot.folder or folder_of(loaded.document), None
    settings = settings or load_settings(runs_dir=request.runs_dir, store=request.store)
    if loaded.snapshot.packaged:
        # The rules of the caller's folder hold; those of the package can only restrict.
        policy, folder = load_policy(settings, Path.cwd(), request.policy, folder), Path.cwd()
    return read_installation(
        request, folder, file=loaded.document.file, policy=policy, catalog=catalog, settings=settings
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


def planned_workflow(spec: WorkflowSpec, document: Document, outer: ResolveContext, around: Surroundings) -> Plan:
    """Return the plan of a workflow that is a tool of another."""
    machine = Installation(outer.catalog, outer.settings, around.policy, outer.hooks, around.environ)
    return build_plan(spec, document, machine, around.options, around.snapshot, around)


def _digested(spec: WorkflowSpec, agents: Mapping[str, PlannedAgent], tools: Sequence[PlannedTool]) -> str:
    """Return what changes whenever the run could, without its inputs: the workflow with its files, models and tools."""
    made = [tool for tool in tools if isinstance(tool, WorkflowTool)]
    inside = {tool.ref: [(part.name, part.describe()) for part in with_parts([tool])] for tool in made}
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
            "tools": {agent.id: [(tool.name, tool.describe()) for tool in agent.tools] for agent in agents.values()},
        }
    )
