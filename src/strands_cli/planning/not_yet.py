"""What the format allows and this version does not do yet: said before a run, so that no field is silently ignored."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.errors import Finding, Severity
from strands_cli.spec.document import Document
from strands_cli.spec.model import WorkflowSpec

# What prints a value of each remote source that is not read here.
_SAYS = {"secrets_manager": "secretsmanager get-secret-value ...", "ssm": "ssm get-parameter --with-decryption ..."}


def check_not_yet(spec: WorkflowSpec, document: Document) -> list[Finding]:
    """Return a finding for each part of the workflow that would have no effect in this version."""
    return [
        Finding("not-yet", f"{what} is not done by this version yet", document.where(pointer), fix, severity)
        for pointer, what, fix, severity in _parts(spec)
    ]


def _parts(spec: WorkflowSpec) -> Iterator[tuple[str, str, str, Severity]]:
    """Yield pointer, name, fix and severity; what guards or feeds a run is an error, what smooths it a warning."""
    remove = "leave it out for now"
    for name in ("mcp", "http_executors", "composite"):
        if getattr(spec.tools, name):
            yield f"/tools/{name}", f"tools.{name}", remove, "error"
    if spec.skills:
        yield "/skills", "skills", remove, "error"
    for index, secret in enumerate(spec.env.secrets):
        if secret.source in _SAYS:
            fix = f"take the source `command` with a program that prints the value (`aws {_SAYS[secret.source]}`)"
            yield f"/env/secrets/{index}/source", f"a secret from `{secret.source}`", fix, "error"
    if spec.telemetry.otel is not None:
        yield "/telemetry/otel", "telemetry.otel", "the run goes on without traces", "warning"
    if spec.telemetry.redact.model_fields_set:
        fix = "traces of this version hold neither inputs nor outputs of tools"
        yield "/telemetry/redact", "telemetry.redact", fix, "warning"
    if spec.context_policy.retrieval is not None:
        yield "/context_policy/retrieval", "context_policy.retrieval", "the run goes on without it", "warning"
    yield from _security_parts(spec)


def _security_parts(spec: WorkflowSpec) -> Iterator[tuple[str, str, str, Severity]]:
    guardrails = spec.security.guardrails
    if guardrails.deny_network:
        yield "/security/guardrails/deny_network", "security.guardrails.deny_network", "name tools to deny", "error"
    if guardrails.pii_redaction:
        yield "/security/guardrails/pii_redaction", "security.guardrails.pii_redaction", "leave it out", "error"
