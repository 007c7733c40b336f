"""Inputs of tool-call steps before a run: names and literal values against the tool's schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.catalog.definitions.earlier_words import renamed
from strands_cli.errors import Code, Finding, did_you_mean, suggest
from strands_cli.planning.plan.plan_values import PlannedTool
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.templates.template import is_template
from strands_cli.yaml_files.document import Document, escape

TOOL_INPUT = Code(
    "tool-input", "The input of a tool-call step does not fit the tool's schema.", "Correct the name or the value."
)

_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "object": Mapping,
}


def check_call_input(
    tool: PlannedTool, arguments: Mapping[str, Any], pointer: str, document: Document
) -> Iterator[Finding]:
    """Yield what the permission check would refuse when the step runs, as far as it is known before.

    Args:
        tool: The tool the step calls; without a schema nothing is known.
        arguments: The step's `input`, templates included.
    """
    schema = tool.record.input_schema
    if schema is None:
        return
    known = json_object(schema.get("properties"))
    takes_others = schema.get("additionalProperties") is not False
    names = renamed(tool.claims.get("earlier"), schema, arguments)
    written = {name: word for word, name in names.items()}
    arguments = {names.get(word, word): value for word, value in arguments.items() if word not in written}
    left = [name for name in known if name not in arguments]
    meant = {did_you_mean(name, left) for name in arguments if name not in known and not takes_others}
    for name in schema.get("required") or ():
        if name not in arguments and name not in meant:
            message = f"'{tool.name}' needs '{name}', and the step does not give it"
            yield Finding(TOOL_INPUT, message, document.where(pointer), f"add `{name}:` under `input`")
    for name, value in arguments.items():
        where = document.where(f"{pointer}/{escape(written.get(name, name))}")
        if name in known:
            yield from _check_value(tool, name, value, known[name], where)
        elif not takes_others:
            fix = suggest(name, left, f"it takes: {', '.join(known) or 'nothing'}")
            yield Finding(TOOL_INPUT, f"'{tool.name}' takes no '{name}'", where, fix)


def _check_value(tool: PlannedTool, name: str, value: Any, schema: Any, where: Any) -> Iterator[Finding]:
    """Yield what is wrong with the type or choice of a value without templates; the rest is checked at the call.

    By hand: the schema library would cost every plan with a tool-call step a third of an SDK import.
    """
    if _has_template(value) or not isinstance(schema, Mapping):
        return
    kind, choices = schema.get("type"), schema.get("enum")
    expected = None
    if isinstance(kind, str) and kind in _TYPES and not _is_of(value, kind):
        expected = f"must be of type {kind}"
    elif isinstance(choices, list) and value not in choices:
        expected = f"must be one of {', '.join(map(repr, choices))}"
    if expected is not None:
        message = f"'{name}' of '{tool.name}' {expected}, not {value!r}"
        yield Finding(TOOL_INPUT, message, where, f"see `strands tools show {tool.record.ref_name}`")


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())


def _has_template(value: Any) -> bool:
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, Mapping):
        return any(_has_template(item) for item in value.values())
    return isinstance(value, (list, tuple)) and any(_has_template(item) for item in value)
