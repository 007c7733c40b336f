"""Secrets that tools need and `env.secrets` does not name: an error, unless the workflow takes variables for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Code, Finding, NotEquipped, did_you_mean
from strands_cli.planning.data_flow.authority import entries_of
from strands_cli.planning.planned_tools.planned_tool import PythonTool
from strands_cli.planning.planned_tools.tool_config import secrets_in
from strands_cli.planning.workflow_tools.tool_parts import with_parts
from strands_cli.workflow.sections import Secret
from strands_cli.workflow.steps.step_models import CallStep

if TYPE_CHECKING:
    from strands_cli.errors import Severity, Where
    from strands_cli.planning.plan.plan_values import PlannedTool
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.yaml_files.document import Document

UNNAMED_SECRET = Code(
    "unnamed-secret",
    "A tool needs a secret that `env.secrets` does not name. The run does not begin, unless `env.take_variables` lets "
    "the tool have the variable of that name.",
    "Name it under `env.secrets`.",
    18,
)


def with_unnamed_secrets(
    spec: WorkflowSpec, called: Sequence[PlannedTool], document: Document
) -> tuple[WorkflowSpec, list[Finding]]:
    """Return a workflow that has every secret which its tools need, where it need not name it, and the findings.

    Each is a variable of its name. Questions, the plan, the permission check and redaction see it as if it were named.
    """
    tools = list(with_parts(called, of_others=False))
    findings = list(check_unnamed(spec, document, tools))
    names = _unnamed(spec, tools) if _takes_variables(spec, document) else ()
    if not names:
        return spec, findings
    env = spec.env.model_copy(update={"secrets": (*spec.env.secrets, *(Secret(key=name) for name in names))})
    return spec.model_copy(update={"env": env}), findings


def check_unnamed(
    spec: WorkflowSpec, document: Document, tools: Iterable[PlannedTool], severity: Severity = "error"
) -> Iterator[Finding]:
    """Yield a finding for each secret that a tool needs and the file does not name.

    Args:
        severity: That of the findings; where the workflow takes variables they are warnings.
    """
    if _is_around_an_agent(document):
        return
    for name, tool in _unnamed(spec, tools).items():
        yield _finding(name, tool, spec, document.where(_place_of(tool, spec)), severity)


def require_named(spec: WorkflowSpec, loaded: Iterable[tuple[PlannedTool, Mapping[str, Any]]]) -> None:
    """Check that a workflow names what custom Python needs, which may show only when it is imported.

    Args:
        loaded: Each tool, with what it claims.

    Raises:
        NotEquipped: it does not.
    """
    named = _named(spec)
    needing = [(tool, name) for tool, claims in loaded for name in tool.secrets(claims, needed=True)]
    python = [(tool, name) for tool, name in needing if isinstance(tool, PythonTool) and name not in named]
    if findings := [_finding(name, tool, spec) for tool, name in python]:
        raise NotEquipped("the workflow cannot run: its tools need secrets", findings=findings)


def _finding(
    name: str, tool: PlannedTool, spec: WorkflowSpec, where: Where | None = None, severity: Severity = "error"
) -> Finding:
    fix = f"name it: env: {{secrets: [{{key: {name}}}]}}"
    if close := did_you_mean(name, _named(spec)):
        fix += f"; or did you mean to name '{close}' so?"
    message = f"the tool '{tool.name}' needs the secret '{name}', which the workflow does not name"
    if where is not None and spec.env.take_variables:
        message, severity = f"{message}; it gets the variable {name}", "warning"
    return Finding(UNNAMED_SECRET, message, where, fix, severity)


def _named(spec: WorkflowSpec) -> list[str]:
    return [secret.name or secret.key for secret in spec.env.secrets]


def _takes_variables(spec: WorkflowSpec, document: Document) -> bool:
    return spec.env.take_variables or _is_around_an_agent(document)


def _is_around_an_agent(document: Document) -> bool:
    return document.file.startswith("<atomic ")  # an agent file has no section for secrets


def _unnamed(spec: WorkflowSpec, tools: Iterable[PlannedTool]) -> dict[str, PlannedTool]:
    """Return each secret that is not named, with the first tool that needs it."""
    named = _named(spec)
    found: dict[str, PlannedTool] = {}
    for tool in tools:
        # What a configuration or a server names is an error of its own.
        by_config = secrets_in(tool.config, tool.record.config_schema)
        for name in tool.secrets(needed=True) if tool.decision.effect != "deny" else ():
            if name not in named and name not in by_config:
                found.setdefault(name, tool)
    return found


def _place_of(tool: PlannedTool, spec: WorkflowSpec) -> str:
    """Return where the file lists or calls a tool."""
    for pointer, entry in entries_of(spec):
        if tool.ref == entry.tool or tool.name == entry.as_:
            return pointer
    for placed in spec.pattern.placed:
        if isinstance(placed.step, CallStep) and placed.step.tool == tool.ref:
            return placed.at("tool")
    return "/tools"
