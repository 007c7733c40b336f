"""Inputs: what was given, coerced and checked against what the workflow declares, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from strands_cli.errors import Finding, did_you_mean
from strands_cli.spec.document import Document, escape
from strands_cli.spec.model import Inputs, InputSpec

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict, Mapping),
}


def resolve_inputs(
    inputs: Inputs, given: Mapping[str, str], values: Mapping[str, Any], document: Document
) -> tuple[dict[str, Any], list[Finding]]:
    """Return every input's value, and all that is wrong with them.

    Args:
        inputs: What the workflow declares; defaults and `values` count where nothing was given.
        given: Texts to be coerced to the declared types (`--var`).
        values: Values that have types already.
        document: The file, for places.
    """
    declared = inputs.declared()
    findings: list[Finding] = []
    resolved: dict[str, Any] = {name: spec.default for name, spec in declared.items() if spec.default is not None}
    resolved |= inputs.values
    for name, text in given.items():
        resolved[name] = _coerced(text, declared.get(name))
    resolved |= values
    unknown = [name for name in {**given, **values} if name not in declared and name not in inputs.values]
    findings += [_unknown(name, declared) for name in unknown]
    for name, spec in declared.items():
        section = "required" if name in inputs.required else "optional"
        where = document.where(f"/inputs/{section}/{escape(name)}", key=True)
        if name not in resolved:
            if section == "required":
                message = f"the input '{name}' ({spec.type}) has no value"
                findings.append(Finding("missing-input", message, where, f"pass --var {name}=VALUE"))
            else:
                resolved[name] = None
        elif problem := _problem(resolved[name], spec):
            findings.append(Finding("bad-input", f"the input '{name}' {problem}", where, f"pass --var {name}=VALUE"))
    return resolved, findings


def _unknown(name: str, declared: Mapping[str, InputSpec]) -> Finding:
    guess = did_you_mean(name, declared)
    message = f"the workflow declares no input '{name}'"
    known = f"it declares: {', '.join(declared)}" if declared else "it declares none"
    fix = f"did you mean '{guess}'?" if guess else f"{known}; templates can still use the value"
    return Finding("unknown-input", message, fix=fix, severity="warning")


def _coerced(text: str, spec: InputSpec | None) -> Any:
    """Return a text as its declared type where it reads as one; otherwise the text, which the check then refuses."""
    kind = spec.type if spec else "string"
    if kind == "boolean":
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else text
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _problem(value: Any, spec: InputSpec) -> str | None:
    """Return what is wrong with a value, or None."""
    accepted = _TYPES[spec.type]
    is_bool = isinstance(value, bool)
    if not isinstance(value, accepted) or (is_bool and spec.type != "boolean"):
        return f"must be of type {spec.type}, not {_shown(value)}"
    if spec.enum is not None and value not in spec.enum:
        guess = did_you_mean(str(value), map(str, spec.enum))
        hint = f"; did you mean {guess!r}?" if guess else ""
        return f"must be one of {', '.join(map(repr, spec.enum))}, not {_shown(value)}{hint}"
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
