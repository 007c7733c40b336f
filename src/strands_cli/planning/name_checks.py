"""The names in a workflow against this machine's catalog: providers, tools, servers, agents and other workflows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from strands_cli.errors import Finding
from strands_cli.provider_checks import UNKNOWN_PROVIDER
from strands_cli.workflow import Loaded
from strands_cli.workflow.yaml import folder_of

if TYPE_CHECKING:
    from strands_cli.catalog import Catalog
    from strands_cli.planning.plan import Plan
    from strands_cli.planning.resolve import ResolveContext, Surroundings, ToolResolver
    from strands_cli.workflow import WorkflowSpec
    from strands_cli.workflow.yaml import Document

# The environment is not looked at; these settings of it would be missed otherwise.
_ENVIRON: Mapping[str, str] = {"AWS_REGION": "any"}


def check_names(loaded: Loaded, catalog: Catalog | None = None) -> Loaded:
    """Return a workflow with every finding about it: those of its form, and those about the names in it.

    A tool that is not installed or not usable here is a warning, since the file may be right. Policy, keys and
    variables are left to `plan`. Nothing is imported but this program.

    Args:
        loaded: The workflow; one with mistakes is checked as far as it can be read.
        catalog: The installed tools; they are looked up if the workflow names any.
    """
    spec = loaded.readable
    if spec is None:
        return loaded
    findings = [*_provider_findings(spec, loaded)]
    if _has_tools(spec):
        findings += _tool_findings(spec, loaded, catalog)
    known = {(finding.code, finding.where) for finding in loaded.findings}
    return loaded.with_findings(finding for finding in findings if (finding.code, finding.where) not in known)


def _has_tools(spec: WorkflowSpec) -> bool:
    tools = spec.tools
    return bool(spec.named_tools() or tools.mcp or tools.http_executors or tools.composite or spec.skills)


def _provider_findings(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    from strands_cli.planning.agent_models import check_models, model_of
    from strands_cli.planning.environment_values import UNSET_VARIABLE, with_environment
    from strands_cli.planning.run_request import RunRequest

    spec, of_variables = with_environment(spec, loaded.document, {})
    yield from (finding for finding in of_variables if finding.code != UNSET_VARIABLE)
    if of_variables:
        return  # their values are known only where the workflow runs
    models = {name: model_of(spec, agent, RunRequest()) for name, agent in spec.agents.items()}
    for finding in check_models(models, loaded.document, _ENVIRON):
        if finding.code == UNKNOWN_PROVIDER and _has_hook_plugins():
            fix = f"{finding.fix}; `strands plan` knows the providers of hook plugins"
            yield replace(finding, severity="warning", fix=fix)
        elif finding.code.exit_code == UNKNOWN_PROVIDER.exit_code:
            yield finding


def _has_hook_plugins() -> bool:
    """Return whether a hook plugin is installed: it may register providers, and is not imported here."""
    from strands_cli.catalog.distributions import read_entry_points, scan_installed
    from strands_cli.hooks import GROUP

    seen = scan_installed()
    return any(read_entry_points(copies[0][1], name, seen, GROUP) for name, copies in seen.records.items())


def _tool_findings(spec: WorkflowSpec, loaded: Loaded, catalog: Catalog | None) -> Iterator[Finding]:
    from strands_cli.catalog import TOOL_BROKEN, TOOL_CONFLICT, TOOL_UNMET, TOOL_VERSION, UNKNOWN_TOOL, discover_catalog
    from strands_cli.planning.planned_agents import tools_of_steps

    # What another machine may have: the file itself is right.
    of_catalog = (UNKNOWN_TOOL, TOOL_VERSION, TOOL_CONFLICT, TOOL_BROKEN, TOOL_UNMET)
    resolver = _resolver(spec, loaded, catalog or discover_catalog())
    resolver.composed.agents()
    tools_of_steps(spec, resolver)
    for finding in resolver.context.findings:
        if finding.code in of_catalog:
            if not (finding.where and finding.where.pointer.endswith("/command")):
                yield replace(finding, severity="warning")
        elif finding.code.exit_code not in (18, 21):
            yield finding


def _resolver(spec: WorkflowSpec, loaded: Loaded, catalog: Catalog) -> ToolResolver:
    from strands_cli.config import load_settings
    from strands_cli.planning.planned_agents import planned_agent
    from strands_cli.planning.resolve import ResolveContext, Surroundings, ToolResolver

    snapshot = loaded.snapshot
    around = Surroundings(snapshot.folder or folder_of(loaded.document), environ=_ENVIRON, snapshot=snapshot)
    context = ResolveContext(spec, loaded.document, catalog, (), load_settings(), None, around)

    return ToolResolver(context, planned_agent, _planned_workflow)


def _planned_workflow(spec: WorkflowSpec, document: Document, outer: ResolveContext, around: Surroundings) -> Plan:
    from strands_cli.planning.plan_builder import planned_workflow  # few workflows are tools of others

    return planned_workflow(spec, document, outer, around)
