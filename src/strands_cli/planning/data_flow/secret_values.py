"""The secrets of a workflow: found missing before the first call, and read once for a run that begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from strands_cli.errors import Code, Finding, InvalidInput, NotEquipped, Where
from strands_cli.planning.planned_tools.planned_tool import McpTool, PythonTool
from strands_cli.planning.planned_tools.tool_config import secrets_in
from strands_cli.planning.workflow_tools.tool_parts import with_parts

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import PlannedTool, ResolvedWorkflow
    from strands_cli.providers import ModelSettings
    from strands_cli.secrets.secret_sources import SecretReference
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.workflow.sections import Secret

MISSING_SECRET = Code(
    "missing-secret",
    "A secret of `env.secrets` has no value: its variable, file, program, keyring or service does not have it.",
    "Set the value at the source that the message names; see `strands explain secrets`.",
    18,
)
UNUSED_SECRET = Code(
    "unused-secret",
    "No tool and no model of the workflow takes a secret that `env.secrets` names, so it is not read.",
    "Remove it, or name it in the tool that needs it: strands explain secrets.",
)
WRITTEN_SECRET = Code(
    "written-secret",
    "The value of a secret is written in the workflow, its files or the run's inputs, which the journal stores.",
    "Remove the value and let a tool name the secret; replace the secret if others can read the file.",
)


def check_secrets(plan: ResolvedWorkflow, places: Sequence[Where], environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each secret that is not there, that no one takes, or that is too short to be hidden.

    Runs no program, opens no keyring.

    Args:
        places: Where each secret of the plan is named, or needed.
    """
    if not plan.spec.env.secrets:
        return
    from strands_cli.parts.plugin_secrets import require_any_source
    from strands_cli.secrets.secret_sources import SecretFault, is_short_here
    from strands_cli.secrets.short_secrets import short_secret

    taken = secret_takers(plan)
    for secret, where in zip(plan.spec.env.secrets, places, strict=False):
        reference = _reference(secret, plan.base_dir, plan.places)
        if is_short_here(reference, environ):
            yield short_secret(f"the secret '{reference.name}'", where)
        try:
            require_any_source(reference, environ)
        except SecretFault as fault:
            if secret_name(secret) in taken:
                yield Finding(MISSING_SECRET, str(fault), where, fault.fix)
                continue
        else:
            if secret_name(secret) in taken or secret.source == "env":  # a variable is hidden in any case
                continue
        if plan.is_complete:  # what could not be planned may take it
            yield unused_secret(secret, where)


def unused_secret(secret: Secret, where: Where) -> Finding:
    """Report a secret that nothing takes."""
    message = f"no tool and no model takes the secret '{secret_name(secret)}', so it is not read"
    fix = "remove it, or let a tool declare it (capabilities.secrets) or its configuration name it"
    return Finding(UNUSED_SECRET, message, where, fix, "warning")


def secret_takers(plan: ResolvedWorkflow) -> dict[str, tuple[str, ...]]:
    """Return the tools and models of a workflow that take each secret, without those of workflows among its tools."""
    return takers_among(plan.spec, _tools_of(plan), {name: agent.model for name, agent in plan.agents.items()})


def takers_among(
    spec: WorkflowSpec, tools: Sequence[PlannedTool], models: Mapping[str, ModelSettings]
) -> dict[str, tuple[str, ...]]:
    """Return those of the tools, and of the agents' models, that take each secret.

    What custom Python takes shows when it is imported, so it counts for every secret.
    """
    found: dict[str, list[str]] = {}
    names = [secret_name(secret) for secret in spec.env.secrets]
    for tool in (tool for tool in tools if tool.decision.effect != "deny"):
        is_known = not isinstance(tool, PythonTool)
        who = f"the MCP server {tool.server.id}" if isinstance(tool, McpTool) else f"the tool {tool.name}"
        for name in tool.secrets() if is_known else names:
            found.setdefault(name, []).append(who if is_known else f"{who} (custom Python: perhaps)")
    for name, who in _taken_by_models(spec, models):
        found.setdefault(name, []).append(who)
    return {name: tuple(dict.fromkeys(who)) for name, who in found.items() if name in names}


def secret_name(secret: Secret) -> str:
    """Return the name by which tools ask for a secret."""
    return secret.name or secret.key


def _taken_by_models(spec: WorkflowSpec, models: Mapping[str, ModelSettings]) -> Iterator[tuple[str, str]]:
    from strands_cli.provider_table import known_provider
    from strands_cli.providers import key_variables

    variables = {secret.key: secret_name(secret) for secret in spec.env.secrets if secret.source == "env"}
    for name, model in models.items():
        yield from ((secret, f"the model of {name}") for secret in secrets_in([model.host, model.options]))
        if provider := known_provider(model.provider):
            for variable in key_variables(provider, model):
                if variable in variables:
                    yield variables[variable], f"the model of {name}"


def read_secrets(
    plan: ResolvedWorkflow,
    environ: Mapping[str, str] | None = None,
    remote: Callable[[SecretReference], str] | None = None,
) -> dict[str, str]:
    """Return the value of every secret that a run takes, by the name under which tools ask for it.

    A variable is looked at in any case, so that its value is hidden; no program is run and no file read for no one.

    Args:
        environ: The environment, `os.environ` by default.
        remote: Reads those that a service keeps.

    Raises:
        NotEquipped: some have none; all of them are named.
    """
    if not plan.spec.env.secrets:
        return {}
    from strands_cli.parts.named_parts import NamedIn
    from strands_cli.parts.plugin_secrets import read_any_secret
    from strands_cli.secrets.secret_sources import SecretFault

    environ = os.environ if environ is None else environ
    values: dict[str, str] = {}
    findings = []
    taken = secret_takers(plan)
    for secret in plan.spec.env.secrets:
        reference = _reference(secret, plan.base_dir, plan.places)
        if reference.name not in taken and not (secret.source == "env" and environ.get(secret.key)):
            continue
        try:
            values[reference.name] = read_any_secret(reference, environ, remote, NamedIn(plan.project))
        except SecretFault as fault:
            findings.append(Finding(MISSING_SECRET, str(fault), fix=fault.fix))
    if findings:
        raise NotEquipped(f"{plan.file} cannot run: not every secret has a value", findings=findings)
    return values


def require_unwritten(plan: ResolvedWorkflow, values: Mapping[str, str]) -> None:
    """Check that no secret is in a text that a run stores and needs unchanged to go on.

    Raises:
        InvalidInput: one is written in the workflow, in a file of it, or in an input.
    """
    from strands_cli.secrets.redactor import Redactor

    texts = {plan.file: plan.text, **plan.files}
    texts |= {f"the input '{name}'": str(value) for name, value in plan.inputs.items()}
    redactors = {name: Redactor([value]) for name, value in values.items()}
    fix = "take it out, and let a tool name the secret; where others could read it, change it at its source"
    findings = [
        Finding(WRITTEN_SECRET, f"the value of the secret '{name}' is written in {place}", fix=fix)
        for name, redactor in redactors.items()
        for place, text in texts.items()
        if redactor.text(text) != text
    ]
    if findings:
        raise InvalidInput(f"{plan.file} cannot run: the record would keep a secret", findings=findings)


def _reference(secret: Secret, folder: Path, places: Mapping[str, str] = MappingProxyType({})) -> SecretReference:
    from strands_cli.secrets.secret_sources import SecretReference

    path = secret.path or ""
    path = places.get(path, path) if secret.source == "file" else path
    return SecretReference(secret_name(secret), secret.key, secret.source, path, folder)


def _tools_of(plan: ResolvedWorkflow) -> list[PlannedTool]:
    tools = with_parts(plan.called(), of_others=False)
    return list({tool.identity: tool for tool in tools}.values())
