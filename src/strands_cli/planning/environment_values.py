"""`${NAME}` and `${NAME:-default}` in the texts of `runtime`: what differs from machine to machine."""

from __future__ import annotations

import re
from collections.abc import Mapping

from strands_cli.errors import Code, Finding
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.yaml_files.document import Document

UNSET_VARIABLE = Code(
    "unset-variable",
    "`runtime` names an environment variable that is not set, and no default.",
    "Set it, or write a default: ${NAME:-default}.",
    18,
)
BAD_VARIABLE = Code(
    "bad-variable",
    "A `${...}` in `runtime` is malformed, or names what looks like a secret.",
    "Write ${NAME} or ${NAME:-default}; each provider takes its key from the environment by itself.",
)

FIELDS = ("provider", "model_id", "region", "host")
_OF_SECRET = re.compile(r"\$\{secrets\.[^{}]+\}")
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}$]*))?\}")
# The settings are shown, stored and sent; a workflow must not be able to send a key to a host that it names.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)


def with_environment(
    spec: WorkflowSpec, document: Document, environ: Mapping[str, str]
) -> tuple[WorkflowSpec, list[Finding]]:
    """Return a workflow whose runtime has the values of the environment, and what is wrong with its variables.

    As in a shell, `${NAME:-default}` is the default also where the variable is empty.
    """
    changed: dict[str, str] = {}
    findings: list[Finding] = []
    for field in FIELDS:
        text = getattr(spec.runtime, field)
        if text is not None and "${" in text:
            changed[field] = _VARIABLE.sub(lambda found: _value(found, environ) or "", text)
            findings += _findings(text, f"/runtime/{field}", document, environ)
    if not changed:
        return spec, []
    return spec.model_copy(update={"runtime": spec.runtime.model_copy(update=changed)}), findings


def variables_in(spec: WorkflowSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values that `runtime` takes from the environment, by the names of the variables."""
    texts = [getattr(spec.runtime, field) or "" for field in FIELDS]
    found = [found for text in texts for found in _VARIABLE.finditer(text)]
    return {one["name"]: value for one in found if (value := _value(one, environ)) is not None}


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str | None:
    if _SECRET.search(found["name"]):
        return None
    return environ.get(found["name"]) or found["default"]


def _findings(text: str, pointer: str, document: Document, environ: Mapping[str, str]) -> list[Finding]:
    where, field = document.where(pointer), pointer.rpartition("/")[2]
    findings = []
    if "${" in _VARIABLE.sub("", _OF_SECRET.sub("", text)):
        message = f"`runtime.{field}` has a malformed variable: {text!r}"
        findings.append(Finding(BAD_VARIABLE, message, where, "write ${NAME} or ${NAME:-default}"))
    for found in _VARIABLE.finditer(text):
        name = found["name"]
        if _SECRET.search(name):
            message = f"`runtime.{field}` names ${{{name}}}, which looks like a secret"
            fix = f"use a variable whose name is not that of a secret, or write the value into `{field}`"
            findings.append(Finding(BAD_VARIABLE, message, where, fix))
        elif _value(found, environ) is None:
            message = f"`runtime.{field}` needs the environment variable {name}, which is not set"
            fix = f"export {name}=..., or write a default: ${{{name}:-default}}"
            findings.append(Finding(UNSET_VARIABLE, message, where, fix))
    return findings
