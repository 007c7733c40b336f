"""Plans for tests: made from YAML by the real loader and planner, over a catalog of their own."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.config import Settings
from strands_cli.errors import Finding
from strands_cli.planning.machine.installation import Installation
from strands_cli.planning.plan_builder import build_plan
from strands_cli.planning.plan_values import Plan, PlannedTool, WorkflowTool
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document

AGENTS = "{writer: {prompt: You write.}, editor: {prompt: You edit.}}"
RUNTIME = "{provider: openai, model_id: m}"


def plan_of(
    text: str,
    *,
    options: RunRequest | None = None,
    catalog: Catalog | None = None,
    custom: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
    file: str = "flow.yaml",
    policy: Policy | None = None,
) -> Plan:
    """Plan a workflow; it must be valid, what planning finds is in `plan.findings`."""
    document = read_document(file, textwrap.dedent(text))
    loaded = load_spec(document)
    assert loaded.spec is not None, "\n".join(map(str, loaded.findings))
    assert not [f for f in loaded.findings if f.severity == "error"], "\n".join(map(str, loaded.findings))
    settings = Settings(Path("runs"), custom)
    catalog = catalog if catalog is not None else discover_catalog([])
    environ = {"OPENAI_API_KEY": "key-of-tests"} if environ is None else environ
    machine = Installation(catalog, settings, policy or Policy(), None, environ)
    return build_plan(loaded, machine, options or RunRequest())


def chain_of(
    steps: str, *, rest: str = "", agents: str = AGENTS, runtime: str = RUNTIME, version: int = 2, **given: Any
) -> Plan:
    """Plan a chain from the YAML of its steps; `rest` are further sections, `given` goes to `plan_of`."""
    body = textwrap.indent(textwrap.dedent(steps).strip("\n"), "      ")
    head = f"version: {version}\nname: test\nruntime: {runtime}\nagents: {agents}\n{textwrap.dedent(rest)}\n"
    return plan_of(f"{head}pattern:\n  type: chain\n  config:\n    steps:\n{body}\n", **given)


def found(plan: Plan, code: str) -> list[Finding]:
    """Return the findings of one code."""
    return [finding for finding in plan.findings if finding.code == code]


def definition_of(tool: PlannedTool) -> Any:
    """Return what a tool that the workflow makes is made of."""
    assert isinstance(tool, WorkflowTool)
    return tool.definition
