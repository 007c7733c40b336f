"""A tool's answer against the output schema that it declares."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem

_NONE = object()


def output_schema_of(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the JSON Schema of a tool's answer, whichever of the two forms the spec has it in; None: no promise."""
    stated = spec.get("outputSchema")
    if not isinstance(stated, Mapping):
        return None
    inner = stated.get("json") if set(stated) == {"json"} else stated
    return inner if isinstance(inner, Mapping) else None


def output_problem(
    schema: Mapping[str, Any] | None,
    result: Mapping[str, Any],
    redactor: Redactor = HIDE_NOTHING,
    structured: Any = None,
) -> str | None:
    """Return why a result is not what was promised, with the place, or None.

    Args:
        schema: The output schema; without one nothing is promised. An error result promises nothing either.
        result: The result, well formed.
        redactor: Hides secrets in the answer.
        structured: What the tool itself gave as its structured content (MCP).
    """
    if schema is None or result["status"] != "success":
        return None
    value = json_in(result["content"]) if structured is None else structured
    if value is _NONE:
        return "the result holds no JSON, which the tool's output schema promises"
    try:
        problem = first_problem(schema, value, redactor)
    except SchemaFaultError as fault:
        return f"the tool's output schema cannot be used: {fault}"
    return None if problem is None else f"the result does not fit the tool's output schema: {problem}"


def json_in(content: Iterable[Mapping[str, Any]]) -> Any:
    """Return the last JSON of a result: a block of that kind, else a text that is JSON."""
    blocks = list(content)[::-1]
    for block in blocks:
        if "json" in block:
            return block["json"]
    for block in blocks:
        try:
            return json.loads(block["text"])
        except (KeyError, ValueError, RecursionError):
            continue
    return _NONE
