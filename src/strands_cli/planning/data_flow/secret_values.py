"""The secrets of a workflow: found missing before the first call, and read once for a run that begins."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Code, Finding, InvalidInput, NotEquipped, suggest
from strands_cli.planning.planned_tools import PythonTool, configured_claims, secrets_in
from strands_cli.planning.workflow_tools import with_parts
from strands_cli.workflow.yaml import Document

if TYPE_CHECKING:
    from strands_cli.planning.plan import Plan, PlannedTool
    from strands_cli.secrets import SecretReference
    from strands_cli.workflow import WorkflowSpec
    from strands_cli.workflow.sections import Secret

MISSING_SECRET = Code(
    "missing-secret",
    "A secret of `env.secrets` has no value: its variable, file, program, keyring or service does not have it.",
    "Set the value at the source that the message names; see docs/how-to/secrets.md.",
    18,
)
UNNAMED_SECRET = Code(
    "unnamed-secret",
    "A tool declares a secret that `env.secrets` does not name, so the tool runs without it.",
    "Name it under `env.secrets`, or ignore this if the tool works without it.",
)
WRITTEN_SECRET = Code(
    "written-secret",
    "The value of a secret is written in the workflow, its files or the run's inputs, which the journal stores.",
    "Remove the value and let a tool name the secret; replace the secret if others can read the file.",
)


def check_secrets(
    spec: WorkflowSpec, document: Document, folder: Path, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield a finding for each secret whose source is not there; no program is run and no keyring opened for it."""
    if not spec.env.secrets:
        return
    from strands_cli.secrets import SecretFault, require_source

    for index, secret in enumerate(spec.env.secrets):
        try:
            require_source(_reference(secret, folder), environ)
        except SecretFault as fault:
            yield Finding(MISSING_SECRET, str(fault), document.where(f"/env/secrets/{index}"), fault.fix)


def check_declared_secrets(plan: Plan, document: Document) -> Iterator[Finding]:
    """Yield a warning for each secret that a tool declares and the workflow does not give it."""
    named = [secret.name or secret.key for secret in plan.spec.env.secrets]
    for tool in _tools_of(plan):
        by_config = secrets_in(tool.config, tool.record.config_schema)
        for name in secrets_declared(tool):
            if name in named or name in by_config:
                continue
            fix = suggest(name, named, f"name it: env: {{secrets: [{{key: {name}}}]}}", form="to name '{}' so")
            message = f"the tool '{tool.name}' asks for the secret '{name}', which the workflow does not name"
            yield Finding(UNNAMED_SECRET, message, document.where("/env/secrets"), fix, "warning")


def secrets_declared(tool: PlannedTool, claims: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the secrets that a tool asks for: what it declares (custom Python: claims), and what its config names."""
    claimed = configured_claims(claims or {}, tool.config_claims) if isinstance(tool, PythonTool) else tool.claims
    capabilities = claimed.get("capabilities")
    names = capabilities.get("secrets") if isinstance(capabilities, Mapping) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()


def read_secrets(
    plan: Plan, environ: Mapping[str, str] | None = None, remote: Callable[[SecretReference], str] | None = None
) -> dict[str, str]:
    """Return the value of every secret of a run, by the name under which tools ask for it.

    Args:
        plan: What is to run.
        environ: The environment, `os.environ` by default.
        remote: Reads those that a service keeps.

    Raises:
        NotEquipped: some have none; all of them are named.
    """
    if not plan.spec.env.secrets:
        return {}
    from strands_cli.secrets import SecretFault, read_secret

    values: dict[str, str] = {}
    findings = []
    for secret in plan.spec.env.secrets:
        reference = _reference(secret, plan.base_dir)
        try:
            values[reference.name] = read_secret(reference, os.environ if environ is None else environ, remote)
        except SecretFault as fault:
            findings.append(Finding(MISSING_SECRET, str(fault), fix=fault.fix))
    if findings:
        raise NotEquipped(f"{plan.file} cannot run: not every secret has a value", findings=findings)
    return values


def local_secret_values(spec: WorkflowSpec, folder: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the values that can be read without running a program or asking a keyring; missing ones are left out."""
    from strands_cli.secrets import SecretFault, read_secret

    for secret in spec.env.secrets:
        if secret.source in ("env", "file"):
            with contextlib.suppress(SecretFault):
                yield read_secret(_reference(secret, folder), environ)


def require_unwritten(plan: Plan, values: Mapping[str, str]) -> None:
    """Check that no secret is in a text that a run stores and needs unchanged to go on.

    Raises:
        InvalidInput: one is written in the workflow, in a file of it, or in an input.
    """
    from strands_cli.secrets import Redactor

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


def _reference(secret: Secret, folder: Path) -> SecretReference:
    from strands_cli.secrets import SecretReference

    return SecretReference(secret.name or secret.key, secret.key, secret.source, secret.path or "", folder)


def _tools_of(plan: Plan) -> list[PlannedTool]:
    tools = with_parts(plan.called(), of_others=False)
    return list({tool.identity: tool for tool in tools}.values())
