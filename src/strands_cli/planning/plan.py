"""The plan: what a run will do, resolved and checked, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.canonical_json import canonical_json
from strands_cli.errors import Finding
from strands_cli.policy import Decision, Policy, Rule
from strands_cli.prices import PriceTable
from strands_cli.providers import ModelSettings
from strands_cli.toolref import ToolRef

if TYPE_CHECKING:
    from strands_cli.catalog import ToolRecord
    from strands_cli.hooks.manager import Hooks
    from strands_cli.lock import LockedServer
    from strands_cli.planning.workflow_tools import WorkflowTool
    from strands_cli.workflow.model import AgentBudgets, AgentLimits, AgentStep, McpServer, ToolEntry, WorkflowSpec


@dataclass(frozen=True, slots=True)
class PlannedTool:
    """A tool as one agent or step will have it.

    `name` is what the model calls it, `ref` how the workflow wrote it, `record` what the catalog knows, None for custom
    Python that the allowlist names. `decision` is policy's answer before any argument is known; the rules of
    `conditional` speak of some of its calls, depending on their arguments. `sources` is how it came to be installed, in
    the words of a rule. `settles` is what its configuration says over its claims (`configured.settled`). `own` is what
    it is made of where the workflow itself makes it, `depth` how many levels that has; nothing is imported for it.
    `server` is the MCP server that it comes from, of which it is the tool `member`, or all of them.
    """

    name: str
    ref: str
    record: ToolRecord | None
    decision: Decision
    config: Mapping[str, Any] = field(default_factory=dict)
    member: str | None = None
    sources: frozenset[str] = frozenset()
    conditional: tuple[Rule, ...] = ()
    own: WorkflowTool | None = None
    depth: int = 0
    settles: Mapping[str, Any] = field(default_factory=dict)
    server: McpServer | None = None

    @property
    def distribution(self) -> str:
        """The distribution that ships it, or `custom` for Python of the workflow's own."""
        return self.record.distribution if self.record else "custom"

    @property
    def qualified(self) -> str:
        """Where it comes from for a reader: `strands-tool-files 0.1.0`."""
        return f"{self.distribution} {self.record.version or ''}".strip() if self.record else "custom Python"

    @property
    def custom(self) -> str | None:
        """The canonical reference of Python that no distribution ships; None for installed and given tools."""
        return ToolRef.parse(self.ref).canonical if self.record is None else None

    @property
    def is_given(self) -> bool:
        """Whether it is an object of the program that runs the workflow, which no distribution ships."""
        return self.record is not None and self.record.kind == "object" and not self.record.path

    @property
    def is_composed(self) -> bool:
        """Whether a call of it leads to calls of others."""
        return self.own is not None and self.record is not None and self.record.kind != "skill"

    @property
    def own_names(self) -> tuple[str, ...]:
        """Every name that a rule may know it by; a part of a suite answers to the suite's names too."""
        if self.custom is not None:
            return tuple(dict.fromkeys((self.custom, self.custom.replace(":", "."))))
        record = self.record
        if record is None or self.is_given:
            return (record.name,) if record else ()
        if self.server is not None:
            whole = f"mcp:{self.server.id}"
            return (f"{whole}/{self.member}", whole) if self.member else (whole,)
        if self.own is not None:
            prefixed = f"{record.kind}:{record.name}" if record.kind in ("agent", "workflow") else record.name
            return tuple(dict.fromkeys((record.name, prefixed)))
        parts = [record.ref_name, *([record.parent] if record.parent else [])]
        if record.members is None and self.member:  # found when it was loaded
            parts.append(f"{record.ref_name}.{self.member}")
        qualified = [f"{record.distribution}/{name}" for name in parts]
        names = (record.name, *parts, *(f"native:{name}" for name in parts), *qualified)
        return tuple(dict.fromkeys((*names, *(f"native:{name}" for name in qualified))))

    @property
    def names(self) -> tuple[str, ...]:
        """Its own names, what the model calls it, and how the workflow wrote it."""
        others = (self.ref, self.server.id, *([self.member] if self.member else [])) if self.server else (self.ref,)
        return tuple(dict.fromkeys((self.name, *self.own_names, *others)))

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes two mentions the same tool, however each was written."""
        record = self.record
        source = (record.distribution, record.entry, record.ref_name) if record else (self.ref,)
        return (self.name, source, canonical_json(self.config))


@dataclass(frozen=True, slots=True)
class PlannedAgent:
    """An agent with everything resolved: its prompt as written, its model, its tools.

    `keeps_conversation` is `memory: run`; `summarizer` the model of its summaries where that is another one.
    """

    id: str
    prompt: str
    model: ModelSettings
    tools: tuple[PlannedTool, ...]
    recording: Path | None = None
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    keeps_conversation: bool = False
    summarizer: ModelSettings | None = None
    limits: AgentLimits | None = None
    budgets: AgentBudgets | None = None


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step for a reader: its key, its kind, who acts, and its input as far as the inputs suffice.

    `rendered` says whether `input` is what will be sent; otherwise it is the template as written. `about` is what the
    workflow says of it to people.
    """

    key: str
    kind: str
    who: str
    input: str
    rendered: bool
    tools: tuple[str, ...] = ()
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """At most how often things happen; None where nothing bounds them."""

    steps: int | None
    model_calls: int | None
    tool_calls: int | None


def entry_key(entry: ToolEntry) -> str:
    """Return what makes two entries of a step's `tool_overrides` the same tool."""
    return canonical_json({"tool": entry.tool, "as": entry.as_, "config": entry.config})


def tools_of(
    step: AgentStep, agents: Mapping[str, PlannedAgent], overrides: Mapping[str, tuple[PlannedTool, ...]]
) -> tuple[PlannedTool, ...]:
    """Return the tools an agent has in this step: its own, or those of `tool_overrides`."""
    if step.tool_overrides is None:
        return agents[step.agent].tools
    return tuple(tool for entry in step.tool_overrides for tool in overrides[entry_key(entry)])


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything `run` needs and nothing it must look up: the value between checking and running.

    `files` are the texts of the other files it was made from (agents, schemas, recordings), by `spec.kept.place_of`.
    `locked` are the distributions and custom references that a lock vouches for, `pinned` what it has of MCP servers by
    id, which is held against them when they have started. `hooks` are the hook plugins that were asked, and will be;
    without them policy alone answers.
    """

    spec: WorkflowSpec
    file: str
    text: str
    base_dir: Path
    inputs: Mapping[str, Any]
    agents: Mapping[str, PlannedAgent]
    call_tools: Mapping[str, PlannedTool]
    override_tools: Mapping[str, tuple[PlannedTool, ...]]
    steps: tuple[PlannedStep, ...]
    rules: tuple[Rule, ...]
    bounds: Bounds
    digest: str
    findings: tuple[Finding, ...] = ()
    prices: PriceTable = field(default_factory=lambda: PriceTable({}, ""))
    files: Mapping[str, str] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()
    pinned: Mapping[str, LockedServer] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    hooks: Hooks | None = field(default=None, compare=False, repr=False)

    def is_locked(self, tool: PlannedTool) -> bool:
        """Return whether a lock vouches for a tool: it is installed as it was when somebody looked at it."""
        if tool.record is not None:
            return tool.record.distribution in self.locked
        from strands_cli.toolref import ToolRef

        return ToolRef.parse(tool.ref).canonical in self.locked
