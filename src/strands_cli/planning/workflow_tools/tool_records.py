"""Tools that a workflow makes, as the catalog would describe them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.planning.plan.plan_values import PlannedTool

# Takes the place of the distribution of an installed tool.
OWNER = "this workflow"


# Annotations that hold for the whole only if they hold for every part.
_OF_ALL = ("readOnlyHint", "idempotentHint")


# Annotations that hold for the whole as soon as they hold for one part.
_OF_ANY = ("destructiveHint", "openWorldHint")


# A tool made of others does nothing by itself: what its parts can do, policy asks of the parts.
NO_CAPABILITIES: Mapping[str, Any] = {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []}


def workflow_record(
    kind: str, name: str, description: str, schema: Mapping[str, Any], annotations: Mapping[str, Any], **claims: Any
) -> ToolRecord:
    """Return a tool that the workflow makes as the catalog would describe it; it has no capabilities of its own."""
    return ToolRecord(
        name=name,
        distribution=OWNER,
        version=None,
        entry=f"{kind}:{name}",
        entry_name=name,
        module="",
        attribute=None,
        path="",
        kind=kind,
        description=description,
        input_schema=schema,
        annotations=annotations,
        strands_cli={"capabilities": NO_CAPABILITIES, **claims},
    )


def _hints(part: PlannedTool) -> Mapping[str, Any]:
    if part.record.strands_cli.get("read_only_when") is not None:
        return {}
    hints = part.record.annotations
    return {**hints, "readOnlyHint": None} if hints.get("destructiveHint") is True else hints


def annotations_of(parts: Iterable[PlannedTool]) -> dict[str, Any]:
    """Return the annotations that hold for a tool because they hold for its parts; unknown parts make it unknown."""
    known = [_hints(part) for part in parts]
    of_all = {word: True for word in _OF_ALL if all(hints.get(word) is True for hints in known)}
    of_any = {word: True for word in _OF_ANY if any(hints.get(word) is True for hints in known)}
    return {**of_all, **of_any}
