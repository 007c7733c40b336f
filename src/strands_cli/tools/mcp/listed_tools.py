"""The tools that a server lists: what is sure to be meant is repaired, and one that cannot be used costs no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from strands_cli.texts.phrases import shortened
from strands_cli.tools.drafts import named_types
from strands_cli.tools.schema.schemas import SchemaFaultError, require_schema

Tell = Callable[[str], None]

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TASK_SUPPORT = ("forbidden", "optional", "required")
# From this version of the protocol on, what a tool promises to answer need not be an object.
_ANY_OUTPUT = "2026"
_WITHOUT_TYPE = ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const")


def usable_tools(listed: Any, version: str, tell: Tell) -> list[dict[str, Any]]:
    """Return the tools of a list that can be used, as the protocol has them.

    Args:
        listed: What the server sent.
        version: The version of the protocol that was agreed on.
        tell: Gets a sentence about the server for each tool that is left out or changed.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(listed if isinstance(listed, list) else [listed], 1):
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(name, str) or not name:
            tell(f"has a tool, number {number} of its list, that is left out: it has no name")
        elif name in found:
            tell(f"lists '{shortened(name, 80)}' twice; the first one is used")
        elif (schema := input_schema(entry.get("inputSchema"))) is None:
            tell(f"has a tool '{shortened(name, 80)}' that is left out: its inputSchema does not describe an object")
        else:
            found[name] = {"name": name, "inputSchema": schema, **_rest(entry, version, tell)}
    return list(found.values())


def input_schema(schema: Any) -> dict[str, Any] | None:
    """Return the schema of an input as the protocol has it, or None for one that no object can fit."""
    if schema is None or schema is True:
        return {"type": "object"}
    if not isinstance(schema, Mapping):
        return None
    schema = named_types(schema)
    kinds = schema.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, (list, bool)):
        return None
    if not all(isinstance(one, (Mapping, bool)) for one in properties.values()):
        return None
    unused = {"type"} if isinstance(required, list) else {"type", "required"}
    return {"type": "object", **{word: part for word, part in schema.items() if word not in unused}}


def _rest(entry: Mapping[str, Any], version: str, tell: Tell) -> dict[str, Any]:
    """Return what a tool says beside its name and its input, without what is none of the protocol's types."""
    rest: dict[str, Any] = {word: entry[word] for word in ("title", "description") if isinstance(entry.get(word), str)}
    hints = entry.get("annotations")
    if isinstance(hints, Mapping):
        kept = {word: hints[word] for word in _HINTS if isinstance(hints.get(word), bool)}
        title = {"title": hints["title"]} if isinstance(hints.get("title"), str) else {}
        rest["annotations"] = {**title, **kept}
    if isinstance(entry.get("_meta"), Mapping):
        rest["_meta"] = dict(entry["_meta"])
    execution = entry.get("execution")
    if isinstance(execution, Mapping) and execution.get("taskSupport") in _TASK_SUPPORT:
        rest["execution"] = {"taskSupport": execution["taskSupport"]}
    if entry.get("outputSchema") is not None:
        output, fault = _output_schema(entry["outputSchema"], version)
        if output is not None:
            rest["outputSchema"] = output
        else:
            tell(f"has a tool '{shortened(entry['name'], 80)}' whose answers are not checked: its outputSchema {fault}")
    return rest


def _output_schema(schema: Any, version: str) -> tuple[dict[str, Any] | None, str]:
    """Return the schema of an output as the protocol has it, or None and why it cannot be used."""
    if not isinstance(schema, Mapping):
        return None, "is not an object"
    repaired = named_types(schema)
    if version < _ANY_OUTPUT:
        if "type" not in repaired and not any(word in repaired for word in _WITHOUT_TYPE):
            repaired = {"type": "object", **repaired}
        if repaired.get("type") != "object":
            return None, "does not describe an object"
    try:
        require_schema(repaired)
    except SchemaFaultError as fault:
        return None, f"cannot be used: {fault}"
    return repaired, ""
