"""Walks over planned tools, their parts, and the agents and workflows among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from strands_cli.planning.plan.plan_values import (
    AgentAsTool,
    Plan,
    PlannedAgent,
    PlannedTool,
    ResolvedWorkflow,
    WorkflowAsTool,
    WorkflowTool,
)


def with_parts(
    tools: Iterable[PlannedTool], *, of_others: bool = True, seen: set[int] | None = None
) -> Iterator[PlannedTool]:
    """Yield tools, each followed by those that it is made of, however deep.

    Args:
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


def all_workflows_in(plan: ResolvedWorkflow) -> Iterator[Plan]:
    """Yield every workflow that is a tool in a plan, also in one that is a tool itself; each file may come twice."""
    for one in workflows_in(plan.called()).values():
        yield one.plan
        yield from all_workflows_in(one.plan)
