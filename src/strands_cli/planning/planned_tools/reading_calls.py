"""Calls that only read by a tool's `read_only_when`: in words, and for the arguments that are known before a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.texts.canonical_json import json_object


def reading_words(condition: Any) -> str:
    """Return which calls only read: `method GET or HEAD`."""
    choices = _choices(condition)
    if choices is None:
        return "arguments that fit its read_only_when"
    return " and ".join(f"{name} {' or '.join(map(str, values))}" for name, values in choices.items())


def reads_only(condition: Any, schema: Mapping[str, Any] | None, known: Mapping[str, Any]) -> bool | None:
    """Return whether a call only reads; None if that depends on arguments not known yet, or cannot be decided here.

    Only a choice among values is looked at: the library for schemas would cost each plan more than all else.

    Args:
        condition: The tool's `read_only_when`.
        schema: Its input schema, for defaults.
        known: The arguments that are given; the value of one that is not known is None.
    """
    choices = _choices(condition)
    if choices is None:
        return None
    if any(name in known and known[name] is None for name in choices):
        return None
    properties = json_object((schema or {}).get("properties"))
    given = {name: known.get(name, json_object(properties.get(name)).get("default")) for name in choices}
    required = condition.get("required") or ()
    return all(
        given[name] in values if given[name] is not None else name not in required for name, values in choices.items()
    )


def _choices(condition: Any) -> dict[str, list[Any]] | None:
    """Return the values of each argument that a condition allows; None if it says anything else."""
    if not isinstance(condition, Mapping) or set(condition) - {"type", "properties", "required"}:
        return None
    found: dict[str, list[Any]] = {}
    for name, schema in json_object(condition.get("properties")).items():
        if (
            not isinstance(schema, Mapping)
            or set(schema) - {"type", "enum"}
            or not isinstance(schema.get("enum"), list)
        ):
            return None
        found[name] = schema["enum"]
    return found or None
