"""Tools that a workflow makes: what the catalog would say of them, and walks over them and their parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from strands_cli.catalog import ToolRecord
from strands_cli.planning.plan import AgentAsTool, Plan, PlannedAgent, PlannedTool, WorkflowAsTool, WorkflowTool

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


def with_parts(
    tools: Iterable[PlannedTool], *, of_others: bool = True, seen: set[int] | None = None
) -> Iterator[PlannedTool]:
    """Yield tools, each followed by those that it is made of, however deep.

    Args:
        tools: Where to begin.
        of_others: Whether to go on into the workflows among them, which have tools of their own.
        seen: The definitions that the walk has entered, by identity.
    """
    seen = set() if seen is None else seen
    for tool in tools:
        yield tool
        if not isinstance(tool, WorkflowTool) or id(tool.definition) in seen:
            continue
        if of_others or not isinstance(tool.definition, WorkflowAsTool):
            seen.add(id(tool.definition))
            yield from with_parts(tool.parts, of_others=of_others, seen=seen)


def definitions_in(tools: Iterable[PlannedTool], *, of_others: bool = True) -> Iterator[Any]:
    """Yield the definitions of the tools that workflows make, among tools and their parts; each may come twice."""
    for tool in with_parts(tools, of_others=of_others):
        if isinstance(tool, WorkflowTool):
            yield tool.definition


def workflows_in(tools: Iterable[PlannedTool]) -> dict[str, WorkflowAsTool]:
    """Return the workflows among tools and their parts, by file, without those inside one of them."""
    found = definitions_in(tools, of_others=False)
    return {one.plan.file: one for one in found if isinstance(one, WorkflowAsTool)}


def agents_in(tools: Iterable[PlannedTool]) -> Iterator[PlannedAgent]:
    """Yield every agent that a call of one of these tools may start; each may come twice."""
    for definition in definitions_in(tools):
        if isinstance(definition, AgentAsTool):
            yield definition.agent
        elif isinstance(definition, WorkflowAsTool):
            yield from definition.plan.agents.values()


def all_workflows_in(plan: Plan) -> Iterator[Plan]:
    """Yield every workflow that is a tool in a plan, also in one that is a tool itself; each file may come twice."""
    for one in workflows_in(plan.called()).values():
        yield one.plan
        yield from all_workflows_in(one.plan)


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
