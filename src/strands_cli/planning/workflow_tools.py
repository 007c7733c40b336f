"""What a workflow's own tools are made of: other tools, an agent, another workflow, or folders of instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.catalog import ToolRecord

if TYPE_CHECKING:
    from strands_cli.planning.plan import Plan, PlannedAgent, PlannedTool
    from strands_cli.workflow.document import Document
    from strands_cli.workflow.skill_folders import SkillFolder

# What stands where an installed tool has its distribution.
OWNER = "this workflow"
# Annotations that hold for the whole only if they hold for every part.
_OF_ALL = ("readOnlyHint", "idempotentHint")
# Annotations that hold for the whole as soon as they hold for one part.
_OF_ANY = ("destructiveHint", "openWorldHint")
# A tool made of others does nothing by itself: what its parts can do, policy asks of the parts.
NO_CAPABILITIES: Mapping[str, Any] = {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []}


@dataclass(frozen=True, slots=True)
class InnerCall:
    """One call of a composite tool: the tool, its templated input, and the name that later templates know it by."""

    tool: PlannedTool
    input: Mapping[str, Any]
    save_as: str | None = None


@dataclass(frozen=True, slots=True)
class Composite:
    """Calls one after another, and the template of the answer; without one the last result is the answer."""

    id: str
    calls: tuple[InnerCall, ...]
    output: str | None = None

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """The tools that it calls."""
        return tuple(call.tool for call in self.calls)


@dataclass(frozen=True, slots=True)
class AgentAsTool:
    """An agent of the same workflow, which does a task in a conversation of its own."""

    agent: PlannedAgent

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """The tools that it may call."""
        return self.agent.tools


@dataclass(frozen=True, slots=True)
class WorkflowAsTool:
    """Another workflow, planned as part of this one; its inputs come with each call. `document` is its file."""

    plan: Plan
    document: Document

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """The tools that its agents and steps may call."""
        return called_in(self.plan)


@dataclass(frozen=True, slots=True)
class Skills:
    """The folders of instructions of a workflow, which one tool gives to agents on demand; it is made of no tools."""

    folders: tuple[SkillFolder, ...]

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """Nothing is called in it."""
        return ()


WorkflowTool = Composite | AgentAsTool | WorkflowAsTool | Skills


def own_record(
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


def depth_of(own: WorkflowTool) -> int:
    """Return how many levels of tools there are in a tool, its own one included."""
    return 1 + max((part.depth for part in own.parts), default=0)


def called_in(plan: Plan) -> tuple[PlannedTool, ...]:
    """Return every tool that an agent or a step of a plan may call."""
    agents = [tool for agent in plan.agents.values() for tool in agent.tools]
    overrides = [tool for group in plan.override_tools.values() for tool in group]
    return (*agents, *overrides, *plan.call_tools.values())


def with_parts(
    tools: Iterable[PlannedTool], *, of_others: bool = True, seen: set[int] | None = None
) -> Iterator[PlannedTool]:
    """Yield tools, each followed by those that it is made of, however deep.

    Args:
        tools: Where to begin.
        of_others: Whether to go on into the workflows among them, which have tools of their own.
        seen: What has been gone into, by the identity of its `own`: once is enough.
    """
    seen = set() if seen is None else seen
    for tool in tools:
        yield tool
        if tool.own is None or id(tool.own) in seen or (isinstance(tool.own, WorkflowAsTool) and not of_others):
            continue
        seen.add(id(tool.own))
        yield from with_parts(tool.own.parts, of_others=of_others, seen=seen)


def workflows_in(tools: Iterable[PlannedTool]) -> dict[str, WorkflowAsTool]:
    """Return the workflows among tools and their parts, by file; not those that stand in one of them."""
    parts = (tool.own for tool in with_parts(tools, of_others=False))
    return {own.plan.file: own for own in parts if isinstance(own, WorkflowAsTool)}


def agents_in(tools: Iterable[PlannedTool]) -> Iterator[PlannedAgent]:
    """Yield every agent that a call of one of these tools may set to work; each may come twice."""
    for tool in with_parts(tools):
        if isinstance(tool.own, AgentAsTool):
            yield tool.own.agent
        elif isinstance(tool.own, WorkflowAsTool):
            yield from tool.own.plan.agents.values()


def all_workflows_in(plan: Plan) -> Iterator[Plan]:
    """Yield every workflow that is a tool in a plan, also in one that is a tool itself; each file may come twice."""
    for own in workflows_in(called_in(plan)).values():
        yield own.plan
        yield from all_workflows_in(own.plan)


def _hints(part: PlannedTool) -> Mapping[str, Any]:
    if part.record is None or part.record.strands_cli.get("read_only_when") is not None:
        return {}
    hints = part.record.annotations
    return {**hints, "readOnlyHint": None} if hints.get("destructiveHint") is True else hints


def annotations_of(parts: Iterable[PlannedTool]) -> dict[str, Any]:
    """Return what is true of a tool because it is true of its parts; what is not known of one is not known of it."""
    known = [_hints(part) for part in parts]
    of_all = {word: True for word in _OF_ALL if all(hints.get(word) is True for hints in known)}
    of_any = {word: True for word in _OF_ANY if any(hints.get(word) is True for hints in known)}
    return {**of_all, **of_any}
