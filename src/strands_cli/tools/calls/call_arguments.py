"""The arguments of a call as policy sees them: with defaults, and whether by the tool's own word they only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.catalog.manifest import in_present_words
from strands_cli.planning.plan_values import PlannedTool
from strands_cli.tools.schema.flattened import coerced
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem, prepared


def reads_only_now(condition: Any, arguments: Any) -> bool:
    """Return whether arguments fit a tool's `read_only_when`; a condition that cannot be used fits nothing."""
    if not isinstance(condition, Mapping) or not isinstance(arguments, Mapping):
        return False
    try:
        return first_problem(condition, arguments) is None
    except SchemaFaultError:
        return False


def as_called(tool: PlannedTool, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the arguments as the permission check would fill them in, and whether they only read."""
    record = tool.record
    try:
        filled = filled_in(record.input_schema or {}, record.strands_cli, arguments)[1]
    except SchemaFaultError:
        filled = arguments
    return filled, reads_only_now(record.strands_cli.get("read_only_when"), filled)


def filled_in(schema: Mapping[str, Any], claims: Mapping[str, Any], model_arguments: Any) -> tuple[Any, Any]:
    """Return the arguments of a call with defaults, as they are written, and as its tool gets them.

    A tool gets present words instead of earlier ones, and numbers instead of their texts.

    Args:
        schema: The tool's input schema.
        claims: Its claims under `strands_cli`.
        model_arguments: The arguments, as JSON.
    """
    written, present = (
        prepared(schema, model_arguments),
        in_present_words(claims.get("earlier"), schema, model_arguments),
    )
    return written, coerced(schema, written if present is model_arguments else prepared(schema, present))
