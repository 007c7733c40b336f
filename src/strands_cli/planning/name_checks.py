"""The names in a workflow against this machine's catalog: providers, tools, servers, agents and other workflows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from strands_cli.default_parts import OURS, PROVIDERS
from strands_cli.errors import Finding
from strands_cli.planning.provider_checks import UNKNOWN_PROVIDER
from strands_cli.provider_table import PROVIDERS as OF_CORE
from strands_cli.workflow.model import LoadedWorkflow
from strands_cli.yaml_files.document_reader import FILE_UNREADABLE, folder_of

if TYPE_CHECKING:
    from pathlib import Path

    from strands_cli.catalog.catalog import Catalog
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.resolve.resolve_context import ResolveContext, Surroundings
    from strands_cli.planning.resolve.tool_resolver import ToolResolver
    from strands_cli.provider_table import Provider
    from strands_cli.providers import ModelSettings
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.yaml_files.document import Document

# The environment is not looked at; these settings of it would be missed otherwise.
_ENVIRON: Mapping[str, str] = {"AWS_REGION": "any"}


def check_names(workflow: LoadedWorkflow, catalog: Catalog | None = None) -> LoadedWorkflow:
    """Return a workflow with every finding about it: those of its form, and those about the things that it names.

    A tool absent or unusable here is a warning, since the file may be right, and so is a missing directory or
    recording. Policy, keys and variables are left to `plan`. Nothing but this program is imported.

    Args:
        workflow: The workflow; one with mistakes is checked as far as it can be read.
        catalog: The installed tools; they are looked up if the workflow names any.
    """
    spec = workflow.readable
    if spec is None:
        return workflow
    models, findings = _models(spec, workflow)
    if _has_tools(spec) or spec.security.model_fields_set or spec.env.secrets:
        findings += _tool_findings(spec, workflow, catalog)
    reported = {(finding.code, finding.where) for finding in workflow.findings}
    findings = [finding for finding in findings if (finding.code, finding.where) not in reported]
    faulty = {finding.where for finding in workflow.findings if finding.severity == "error"}
    files = [] if workflow.snapshot.is_all else _file_findings(spec, workflow, models)
    return workflow.with_findings([*findings, *(finding for finding in files if finding.where not in faulty)])


def _has_tools(spec: WorkflowSpec) -> bool:
    tools = spec.tools
    return bool(spec.named_tools() or tools.mcp or tools.http_executors or tools.composite or spec.skills)


def _models(spec: WorkflowSpec, workflow: LoadedWorkflow) -> tuple[dict[str, ModelSettings], list[Finding]]:
    """Return the models of the agents, where the file alone names them, and their faults."""
    from strands_cli.planning.agent_models import alternates_of, check_models, model_of
    from strands_cli.planning.plan_builder import UNSET_VARIABLE, with_environment
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.providers import ModelSettings

    spec, of_variables = with_environment(spec, workflow.document, {})
    if of_variables:  # the values are known only where the workflow runs
        return {}, [finding for finding in of_variables if finding.code != UNSET_VARIABLE]
    asked, none = RunRequest(), ModelSettings("")
    models = {name: model_of(spec, agent, asked) for name, agent in spec.agents.items()}
    listed = {
        name: [models[name], *(other.model for other in alternates_of(spec, agent, asked))]
        for name, agent in spec.agents.items()
    }

    def faults(*, is_ours: bool) -> list[Finding]:
        chosen = {
            name: [model if (model.provider in OURS[PROVIDERS]) is is_ours else none for model in own]
            for name, own in listed.items()
        }
        return check_models(chosen, workflow.document, _ENVIRON, _provider_by_name)

    # The file is right: another machine may have the distribution.
    findings = [replace(finding, severity="warning") for finding in faults(is_ours=True)]
    rest = faults(is_ours=False)
    findings += [finding for finding in rest if finding.code.exit_code == UNKNOWN_PROVIDER.exit_code]
    return models, findings


def _provider_by_name(name: str) -> Provider | None:
    if name in OF_CORE:
        return OF_CORE[name]
    from strands_cli.parts.named_providers import provider_by_name  # looks through the installed distributions

    return provider_by_name(name)


def _file_findings(
    spec: WorkflowSpec, workflow: LoadedWorkflow, models: Mapping[str, ModelSettings]
) -> Iterator[Finding]:
    """Yield the faults of the files and directories that a workflow names.

    Each check is imported where it is needed: together they take a twentieth of the command.
    """
    document, folder = workflow.document, _folder(workflow)
    if spec.env.mounts:
        from strands_cli.planning.environment import check_mounts
        from strands_cli.planning.plan_values import places_of

        yield from filter(None, map(_of_file, check_mounts(spec, document, folder, places_of(spec, folder))))
    if spec.context_policy.notes is not None:
        from strands_cli.planning.recording_checks import check_notes

        yield from check_notes(spec, document)
    if spec.context_policy.compaction is not None:
        from strands_cli.planning.recording_checks import check_compaction

        yield from check_compaction(spec, document)
    if spec.outputs.artifacts:
        yield from _artifact_findings(spec, document)
    recording = folder / spec.runtime.recording if spec.runtime.recording else None
    playing = {name: recording for name, model in models.items() if model.provider == "replay"}
    if playing:
        from strands_cli.planning.recording_checks import check_recordings

        yield from filter(None, map(_of_file, check_recordings(spec, playing, document, workflow.snapshot)))


def _artifact_findings(spec: WorkflowSpec, document: Document) -> Iterator[Finding]:
    """Yield the artifacts that no run may write; their directory and its files are not looked at."""
    from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
    from strands_cli.planning.environment import check_outputs
    from strands_cli.planning.row_planner import resolve_inputs
    from strands_cli.planning.run_request import RunRequest

    inputs, _ = resolve_inputs(spec.inputs, {}, {}, document)
    for finding in check_outputs(spec, document, inputs, RunRequest()):
        of_path = finding.where is not None and finding.where.pointer.endswith("/path")
        if of_path and finding.code != ARTIFACT_EXISTS:
            yield finding


def _tool_findings(spec: WorkflowSpec, workflow: LoadedWorkflow, catalog: Catalog | None) -> Iterator[Finding]:
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.planning.agent_models import tools_of_steps

    catalog_in_use = catalog or discover_catalog(project=_folder(workflow))
    resolver = _resolver(spec, workflow, catalog_in_use)
    agents = resolver.composed.agents()
    overrides, calls = tools_of_steps(spec, resolver)
    findings = list(resolver.context.findings)
    tools = [*(tool for agent in agents.values() for tool in agent.tools), *calls.values()]
    tools += [tool for group in overrides.values() for tool in group]
    if spec.security.model_fields_set:
        from strands_cli.planning.machine.rules_in_force import check_rules
        from strands_cli.planning.plan_values import with_parts

        findings += check_rules(spec, workflow.document, (), list(with_parts(tools)), resolver.context.catalog)
    if tools or spec.env.secrets:
        from strands_cli.planning.data_flow.secret_values import check_written_uses
        from strands_cli.planning.plan_values import with_parts

        called_tools = list(with_parts(tools, of_others=False)) if resolver.context.is_complete else None
        findings += check_written_uses(spec, workflow.document, called_tools)
    yield from filter(None, map(_of_file, findings))


def _of_file(finding: Finding) -> Finding | None:
    """Return a finding as far as it is about the file; None for one about this machine, its policy, or one run."""
    from strands_cli.catalog.resolution import TOOL_BROKEN, TOOL_UNMET, TOOL_VERSION, UNKNOWN_TOOL
    from strands_cli.catalog.tool_record import TOOL_CONFLICT
    from strands_cli.planning.environment import MISSING_MOUNT
    from strands_cli.planning.recording_checks import REPLAY_NEEDS_RECORDING

    # Another machine may have these: the file itself is right.
    if finding.code in (UNKNOWN_TOOL, TOOL_VERSION, TOOL_CONFLICT, TOOL_BROKEN, TOOL_UNMET, MISSING_MOUNT):
        is_program = finding.where is not None and finding.where.pointer.endswith("/command")
        return None if is_program else replace(finding, severity="warning")
    if finding.code == REPLAY_NEEDS_RECORDING or (
        finding.code == FILE_UNREADABLE and finding.where and finding.where.pointer == "/runtime/recording"
    ):
        return replace(finding, severity="warning")  # `run --record` makes one, and `run --provider` reads none
    return None if finding.code.exit_code in (18, 21) and finding.severity == "error" else finding


def _folder(workflow: LoadedWorkflow) -> Path:
    return workflow.snapshot.folder or folder_of(workflow.document)


def _resolver(spec: WorkflowSpec, workflow: LoadedWorkflow, catalog: Catalog) -> ToolResolver:
    from strands_cli.config import read_settings
    from strands_cli.planning.agent_models import planned_agent
    from strands_cli.planning.machine.rules_in_force import rules_of
    from strands_cli.planning.resolve.resolve_context import ResolveContext, Surroundings
    from strands_cli.planning.resolve.tool_resolver import ToolResolver
    from strands_cli.planning.run_request import RunRequest

    rules = rules_of(spec, RunRequest(), workflow.document, catalog) if spec.security.model_fields_set else ()
    around = Surroundings(_folder(workflow), environ=_ENVIRON, snapshot=workflow.snapshot)
    context = ResolveContext(spec, workflow.document, catalog, rules, read_settings(), None, around)
    return ToolResolver(context, planned_agent, _planned_workflow)


def _planned_workflow(workflow: LoadedWorkflow, outer: ResolveContext, around: Surroundings) -> Plan:
    from strands_cli.planning.plan_builder import planned_workflow  # few workflows are tools of others

    return planned_workflow(workflow, outer, around)
