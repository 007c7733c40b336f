"""Inputs: what was given, coerced and checked against what the workflow declares, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from strands_cli.errors import Code, Finding, suggest
from strands_cli.workflow.sections import Inputs
from strands_cli.yaml_files.document import Document, escape

BAD_INPUT = Code(
    "bad-input",
    "An input's value does not have its declared type, or is not in its enum.",
    "Give a value of the reported type or enum.",
    2,
)
MISSING_INPUT = Code("missing-input", "A required input has no value.", "Give it with --var NAME=VALUE.", 2)
UNKNOWN_INPUT = Code(
    "unknown-input",
    "A value is given for an input that the workflow does not declare.",
    "Correct the name, or declare the input.",
    2,
)


class WrittenValues(dict[str, Any]):
    """Values of inputs from a file, with the text of those that their JSON would spell otherwise (`1.10`)."""

    def __init__(self, values: Mapping[str, Any] = MappingProxyType({}), written: Mapping[str, str] | None = None):
        super().__init__(values)
        self.written = dict(getattr(values, "written", {}) if written is None else written)

    def with_those(self, values: Mapping[str, Any], written: Mapping[str, str] | None = None) -> WrittenValues:
        """Return these values and others, which win."""
        others = WrittenValues(values, written)
        kept = {name: text for name, text in self.written.items() if name not in others}
        return WrittenValues({**self, **others}, {**kept, **others.written})


def resolve_inputs(
    inputs: Inputs,
    texts: Mapping[str, str],
    values: Mapping[str, Any],
    document: Document,
    is_read: Callable[[str], bool] | None = None,
) -> tuple[dict[str, Any], list[Finding]]:
    """Return every input's value, and all that is wrong with them.

    Args:
        inputs: What the workflow declares; defaults and `values` count where nothing was given.
        texts: Texts to be converted to the declared types (`--var`).
        values: Values that have types already; they count less than what is given as text.
        is_read: Returns whether a template reads a name of the inputs: a value that is not declared and that none reads
            is an error. None makes a warning of each.
    """
    declared = inputs.declared()
    resolved: dict[str, Any] = {name: spec.default for name, spec in inputs.optional.items()}
    resolved |= inputs.values
    unknown = [name for name in {**values, **texts} if name not in resolved and name not in declared]
    known = {**declared, **inputs.values}
    findings = [_unknown(name, known, is_read=is_read is None or is_read(name)) for name in unknown]
    resolved |= values
    for name, text in getattr(values, "written", {}).items():
        if name in declared and declared[name].type == "string" and values[name] is not None:
            resolved[name] = text
    resolved |= {name: inputs.read_fixed(name, text) for name, text in texts.items()}
    for name, spec in declared.items():
        section = "required" if name in inputs.required else "optional"
        where = document.where(f"/inputs/{section}/{escape(name)}", key=True)
        fix = f"pass --var {name}=VALUE"
        if resolved.get(name) is None:
            if section == "required":
                findings.append(Finding(MISSING_INPUT, f"the input '{name}' ({spec.type}) has no value", where, fix))
                resolved.pop(name, None)
            continue
        try:
            resolved[name] = spec.coerced(resolved[name])
        except ValueError as error:
            findings.append(Finding(BAD_INPUT, f"the input '{name}' does not fit: {error}", where, fix))
    return resolved, findings


def _unknown(name: str, known: Mapping[str, Any], *, is_read: bool) -> Finding:
    message = f"the workflow declares no input '{name}'"
    listed = f"it declares: {', '.join(known)}" if known else "it declares none"
    if is_read:
        fix = suggest(name, known, f"{listed}; templates can still use the value")
        return Finding(UNKNOWN_INPUT, message, fix=fix, severity="warning")
    return Finding(UNKNOWN_INPUT, f"{message}, and nothing reads it", fix=suggest(name, known, listed))
