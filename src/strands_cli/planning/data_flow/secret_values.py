"""The secrets of a workflow: found missing before the first call, and read once for a run that begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Code, Finding, InvalidInput, NotEquipped, Where, did_you_mean
from strands_cli.planning.data_flow.authority import entries_of
from strands_cli.planning.data_flow.egress import check_telemetry
from strands_cli.planning.data_flow.exposure import check_exposure, check_networks
from strands_cli.planning.plan_values import with_parts
from strands_cli.planning.planned_tool import McpTool, PythonTool, secrets_in
from strands_cli.workflow.sections import Secret
from strands_cli.workflow.steps import CallStep
from strands_cli.yaml_files.document import Document

if TYPE_CHECKING:
    from strands_cli.errors import Severity, Where
    from strands_cli.planning.plan_values import PlannedTool, ResolvedWorkflow
    from strands_cli.providers import ModelSettings
    from strands_cli.secrets.secret_sources import SecretReference
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.workflow.sections import Secret
    from strands_cli.yaml_files.document import Document


MISSING_SECRET = Code(
    "missing-secret",
    "A secret of `env.secrets` has no value at its source.",
    "Set the value at the source that the message names: strands explain secrets.",
    18,
)
UNUSED_SECRET = Code(
    "unused-secret",
    "No tool and no model takes a secret that `env.secrets` names.",
    "Remove it, or name it in the tool that needs it.",
)
WRITTEN_SECRET = Code(
    "written-secret",
    "The value of a secret is in the workflow, its files or the run's inputs, which the journal stores.",
    "Remove it and let a tool name the secret; replace the secret if others can read the file.",
)


def check_secrets(plan: ResolvedWorkflow, places: Sequence[Where], environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each secret that is missing, taken by no one, or too short to be hidden.

    Runs no program, opens no keyring.

    Args:
        places: Where each secret of the plan is named, or needed.
    """
    if not plan.spec.env.secrets:
        return
    from strands_cli.parts.named_parts import require_any_source
    from strands_cli.secrets.secret_sources import SecretFault, is_short_here, short_secret

    takers = secret_takers(plan)
    for secret, where in zip(plan.spec.env.secrets, places, strict=False):
        reference = _reference(secret, plan.base_dir, plan.places)
        if is_short_here(reference, environ):
            yield short_secret(f"the secret '{reference.name}'", where)
        try:
            require_any_source(reference, environ)
        except SecretFault as fault:
            if secret_name(secret) in takers:
                yield Finding(MISSING_SECRET, str(fault), where, fault.fix)
                continue
        else:
            if secret_name(secret) in takers or secret.source == "env":  # a variable is hidden in any case
                continue
        if plan.is_complete:  # a part that could not be planned may take it
            yield unused_secret(secret, where)


def unused_secret(secret: Secret, where: Where) -> Finding:
    """Report a secret that nothing takes."""
    message = f"no tool and no model takes the secret '{secret_name(secret)}', so it is not read"
    fix = "remove it, or let a tool declare it (capabilities.secrets) or its configuration name it"
    return Finding(UNUSED_SECRET, message, where, fix, "warning")


def secret_takers(plan: ResolvedWorkflow) -> dict[str, tuple[str, ...]]:
    """Return the tools and models of a workflow that take each secret, without those of workflows among its tools."""
    return takers_among(plan.spec, _tools_of(plan), {name: agent.models for name, agent in plan.agents.items()})


def takers_among(
    spec: WorkflowSpec, tools: Sequence[PlannedTool], models: Mapping[str, Sequence[ModelSettings]]
) -> dict[str, tuple[str, ...]]:
    """Return those of the tools, and of the agents' models, that take each secret.

    The secrets of custom Python show when it is imported, so it counts for every secret.
    """
    takers: dict[str, list[str]] = {}
    names = [secret_name(secret) for secret in spec.env.secrets]
    for tool in (tool for tool in tools if tool.decision.effect != "deny"):
        is_known = not isinstance(tool, PythonTool)
        who = f"the MCP server {tool.server.id}" if isinstance(tool, McpTool) else f"the tool {tool.name}"
        for name in tool.secrets() if is_known else names:
            takers.setdefault(name, []).append(who if is_known else f"{who} (custom Python: perhaps)")
    for name, who in _taken_by_models(spec, models):
        takers.setdefault(name, []).append(who)
    return {name: tuple(dict.fromkeys(who)) for name, who in takers.items() if name in names}


def secret_name(secret: Secret) -> str:
    """Return the name by which tools ask for a secret."""
    return secret.name or secret.key


def _taken_by_models(spec: WorkflowSpec, models: Mapping[str, Sequence[ModelSettings]]) -> Iterator[tuple[str, str]]:
    from strands_cli.provider_table import known_provider
    from strands_cli.providers import key_variables

    variables = {secret.key: secret_name(secret) for secret in spec.env.secrets if secret.source == "env"}
    for name, model in ((name, model) for name, own in models.items() for model in own):
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
    from strands_cli.parts.named_parts import NamingFolder, read_any_secret
    from strands_cli.secrets.secret_sources import SecretFault

    environ = os.environ if environ is None else environ
    values: dict[str, str] = {}
    findings = []
    takers = secret_takers(plan)
    for secret in plan.spec.env.secrets:
        reference = _reference(secret, plan.base_dir, plan.places)
        if reference.name not in takers and not (secret.source == "env" and environ.get(secret.key)):
            continue
        try:
            values[reference.name] = read_any_secret(reference, environ, remote, NamingFolder(plan.project))
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
        Finding(WRITTEN_SECRET, f"the value of the secret '{name}' is written in {location}", fix=fix)
        for name, redactor in redactors.items()
        for location, text in texts.items()
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


# Secrets that tools need and `env.secrets` does not name: an error, unless the workflow takes variables for them.


UNNAMED_SECRET = Code(
    "unnamed-secret",
    "A tool needs a secret that `env.secrets` does not name; without `env.take_variables` the run does not begin.",
    "Name it under `env.secrets`.",
    18,
)


def with_unnamed_secrets(
    spec: WorkflowSpec, called: Sequence[PlannedTool], document: Document
) -> tuple[WorkflowSpec, list[Finding]]:
    """Return a workflow with every secret that its tools need, also where it need not name it, and the findings.

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
    """Check that a workflow names the secrets of custom Python, which may show only when it is imported.

    Args:
        loaded: Each tool, with its claims.

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
    """Return each secret without a name in the workflow, with the first tool that needs it."""
    named = _named(spec)
    first_tools: dict[str, PlannedTool] = {}
    for tool in tools:
        # A secret in a configuration or a server is an error of its own.
        by_config = secrets_in(tool.config, tool.record.config_schema)
        for name in tool.secrets(needed=True) if tool.decision.effect != "deny" else ():
            if name not in named and name not in by_config:
                first_tools.setdefault(name, tool)
    return first_tools


def _place_of(tool: PlannedTool, spec: WorkflowSpec) -> str:
    """Return where the file lists or calls a tool."""
    for pointer, entry in entries_of(spec):
        if tool.ref == entry.tool or tool.name == entry.as_:
            return pointer
    for placed in spec.pattern.placed:
        if isinstance(placed.step, CallStep) and placed.step.tool == tool.ref:
            return placed.at("tool")
    return "/tools"


# The inputs and destinations of a workflow, as findings: of a whole plan, and as far as the file alone shows them.


def check_data_flow(
    workflow: ResolvedWorkflow,
    document: Document,
    environ: Mapping[str, str],
    unnamed: Sequence[Finding],
    written: int,
    *,
    is_tool: bool,
) -> list[Finding]:
    """Return findings about the exposure of a workflow, the destination of its spans, and missing secrets.

    Args:
        unnamed: The findings of `with_unnamed_secrets`.
        written: How many of the secrets the file names.
    """
    places = [document.where(f"/env/secrets/{index}") for index in range(written)]
    places += [finding.where for finding in unnamed if finding.where]
    of_spans = [] if is_tool else check_telemetry(workflow.spec, document, environ)
    exposed = check_exposure(workflow, document)
    return [*exposed, *of_spans, *unnamed, *check_secrets(workflow, places, environ)]


def check_written_uses(
    spec: WorkflowSpec, document: Document, tools: Sequence[PlannedTool] | None
) -> Iterator[Finding]:
    """Yield the private networks that a file opens, and the secrets that nothing takes or that it does not name.

    Args:
        tools: The tools of the workflow; None if some are unknown, which may take every secret.
    """
    yield from check_networks(spec, document)
    yield from check_unnamed(spec, document, tools or (), "warning")
    takers = takers_among(spec, tools, {}) if tools is not None else None
    for index, secret in enumerate(spec.env.secrets):
        # A variable is hidden where it has a value, which only a run knows.
        if takers is not None and secret.source != "env" and secret_name(secret) not in takers:
            yield unused_secret(secret, document.where(f"/env/secrets/{index}"))
