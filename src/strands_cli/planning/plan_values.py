"""The plan: the steps of a run, resolved and checked, as frozen values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Code, Finding
from strands_cli.planning.planned_tool import (
    AUTO_ABOVE,
    AnyTool,
    InstalledTool,
    LateTool,
    McpTool,
    ObjectTool,
    PythonTool,
)
from strands_cli.policy.decision import Decision, Policy
from strands_cli.policy.rule import Rule
from strands_cli.providers import ModelSettings
from strands_cli.quick_dataclass import dataclass
from strands_cli.store_place import StorePlace
from strands_cli.texts.canonical_json import canonical_json

if TYPE_CHECKING:
    from strands_cli.hooks.manager import Hooks
    from strands_cli.lock.lock_reader import LockedServer
    from strands_cli.planning.prices import PriceTable
    from strands_cli.workflow.agent_sections import AgentBudgets, AgentLimits
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.workflow.sections import Failure, InputSpec, Loops, ToolsShown
    from strands_cli.workflow.skill_folders import SkillFolder
    from strands_cli.workflow.steps import AgentStep, ToolEntry
    from strands_cli.yaml_files.document import Document


# The targets of the paths in a workflow's `env`, looked up once: the shown path is the opened one.


def place_of(folder: Path, path: str) -> str:
    """Return the target of a path of a workflow in this folder, without links; `~` is the home directory."""
    return os.path.realpath(folder / os.path.expanduser(path))  # noqa: PTH111 - `~unknown` is a name, not an error


def places_of(spec: WorkflowSpec, folder: Path) -> dict[str, str]:
    """Return where each mount and each file of a secret leads, by the path as it is written."""
    files = [secret.path or "" for secret in spec.env.secrets if secret.source == "file"]
    return {path: place_of(folder, path) for path in (*spec.env.mounts.values(), *files)}


class FilePlaces(NamedTuple):
    """Where the files of a workflow are: the folders in which its relative paths begin, and its mounts."""

    folders: tuple[Path, ...]
    mounts: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: WorkflowSpec, base_dir: Path, beside: Path, places: Mapping[str, str]) -> FilePlaces:
        """Return those of a workflow in a folder; see `ResolvedWorkflow.places` and `RunRequest.beside`."""
        return cls((base_dir, beside), tuple(places[path] for path in spec.env.mounts.values()))


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
        """Return the tools that it calls."""
        return tuple(call.tool for call in self.calls)


@dataclass(frozen=True, slots=True)
class AgentAsTool:
    """An agent of the same workflow, which does a task in a conversation of its own."""

    agent: PlannedAgent

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """Return the tools that it may call."""
        return self.agent.tools


@dataclass(frozen=True, slots=True)
class WorkflowAsTool:
    """Another workflow, planned as part of this one; its inputs come with each call. `document` is its file."""

    plan: Plan
    document: Document

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """Return the tools that its agents and steps may call."""
        return self.plan.called()


@dataclass(frozen=True, slots=True)
class Skills:
    """The folders of instructions of a workflow, which one tool gives to agents on demand; it has no parts."""

    folders: tuple[SkillFolder, ...]

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """Return nothing: it calls no tools."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowTool(AnyTool):
    """A tool that the workflow itself makes."""

    definition: Composite | AgentAsTool | WorkflowAsTool | Skills
    sources: frozenset[str] = frozenset({"workflow"})

    @property
    def is_composed(self) -> bool:
        """Return whether a call of it leads to calls of other tools."""
        return not isinstance(self.definition, Skills)

    @property
    def parts(self) -> tuple[PlannedTool, ...]:
        """Return the planned tools that it is made of."""
        return self.definition.parts

    def names(self) -> tuple[str, ...]:
        """Return its name, for agents and workflows also with their prefix."""
        record = self.record
        prefixed = f"{record.kind}:{record.name}" if record.kind in ("agent", "workflow") else record.name
        return tuple(dict.fromkeys((record.name, prefixed)))


# A tool of a plan, whatever it is: installed, an object or a function of Python, of an MCP server, a workflow.
PlannedTool = InstalledTool | ObjectTool | PythonTool | McpTool | WorkflowTool | LateTool


@dataclass(frozen=True, slots=True)
class Alternate:
    """A model that goes on with a call on these failures of the ones before it."""

    model: ModelSettings
    on: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class PlannedAgent:
    """An agent with everything resolved: its prompt as written, its model, its tools.

    `keeps_conversation` is `memory: run` or `path`, of which `follows_path` is the second; `summarizer` the model of
    its summaries where that is another. `lists_skills` says whether its system prompt has the list of its skills, and
    `takes_any_message` whether its `input_schema` is about the inputs of the run. `prompt_end` is the template that
    ends the system prompt. `loops` is None where they are not looked for. `alternates` are the models that go on when
    `model` is down, in their order.
    """

    id: str
    prompt: str
    model: ModelSettings
    tools: tuple[PlannedTool, ...]
    recording: Path | None = None
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    keeps_conversation: bool = False
    follows_path: bool = False
    lists_skills: bool = False
    takes_any_message: bool = False
    prompt_end: str | None = None
    summarizer: ModelSettings | None = None
    limits: AgentLimits | None = None
    budgets: AgentBudgets | None = None
    loops: Loops | None = None
    alternates: tuple[Alternate, ...] = ()
    tools_shown: ToolsShown = "all"

    @property
    def models(self) -> tuple[ModelSettings, ...]:
        """Its model, and those that go on in its place."""
        return (self.model, *(alternate.model for alternate in self.alternates))

    @property
    def every_model(self) -> tuple[ModelSettings, ...]:
        """Every model that a step of it may ask: also that of summaries."""
        return (*self.models, *([self.summarizer] if self.summarizer is not None else []))

    def defers(self, number: int) -> bool:
        """Return whether its model sees definitions of so many tools only where it loads them."""
        return number > AUTO_ABOVE if self.tools_shown == "auto" else self.tools_shown != "all"


@dataclass(frozen=True, slots=True)
class PlannedAttachment:
    """An attachment of a planned step: its path and its pointer, and its type and size as far as they are known.

    Of a `path` with templates that only the run can render, nothing else is known.
    """

    path: str
    pointer: str
    type: str | None = None
    size: int | None = None
    fault: tuple[Code, str, str | None] | None = None
    warning: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of `plan`."""
        return {"path": self.path, "type": self.type, "size": self.size}

    def __str__(self) -> str:
        return self.path if self.size is None else f"{self.path} ({self.type}, {self.size:,} bytes)"


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step for a reader: its key, its kind, who acts, and its input as far as the inputs suffice.

    `rendered` tells that `input` is the text to be sent; otherwise it is the template as written. `about` is its
    description for people. `decision` is policy's answer to a call of a tool whose arguments are known so far that it
    does not depend on the rest.
    """

    key: str
    kind: str
    who: str
    input: str
    rendered: bool
    tools: tuple[str, ...] = ()
    about: str | None = None
    decision: Decision | None = None
    attachments: tuple[PlannedAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """At most how often things happen; None where nothing bounds them."""

    steps: int | None
    model_calls: int | None
    tool_calls: int | None


def entry_key(entry: ToolEntry) -> str:
    """Return the key that equal tools of a step's `tool_overrides` share."""
    if entry.as_ is None and not entry.config:
        return entry.tool
    return canonical_json({"tool": entry.tool, "as": entry.as_, "config": entry.config})


def tools_in_step(
    step: AgentStep, agents: Mapping[str, PlannedAgent], overrides: Mapping[str, tuple[PlannedTool, ...]]
) -> tuple[PlannedTool, ...]:
    """Return the tools that an agent has in this step: its own, or those of `tool_overrides`."""
    if step.tool_overrides is None:
        return agents[step.agent].tools
    return tuple(tool for entry in step.tool_overrides for tool in overrides[entry_key(entry)])


def _no_prices() -> PriceTable:
    from strands_cli.planning.prices import PriceTable  # imports the events, which most plans do not need yet

    return PriceTable({}, "")


def called_by(
    agents: Mapping[str, PlannedAgent],
    overrides: Mapping[str, tuple[PlannedTool, ...]],
    call_tools: Mapping[str, PlannedTool],
) -> tuple[PlannedTool, ...]:
    """Return every tool that an agent or a step may call."""
    of_agents = [tool for agent in agents.values() for tool in agent.tools]
    return (*of_agents, *(tool for group in overrides.values() for tool in group), *call_tools.values())


@dataclass(frozen=True)
class ResolvedWorkflow:
    """A workflow with its agents, steps and tools resolved on this machine, before findings and a lock are gathered.

    `files` are the texts of the other files it was made from (agents, schemas, recordings), by `stored_name`. `hooks`
    are the hook plugins that were asked, and will be; without them policy alone answers. `store` is where runs are
    stored. `is_complete` is False where a part of the workflow is left out, because it cannot be planned; a finding has
    the reason. `places` are the mounts and the files of secrets without links, by the path as written: a link moved
    later leads nowhere else. `variables` are the environment variables that `runtime` names. `packaged` is the name
    `DIST/NAME` of a workflow that an installed distribution brings. `host_is_typed` says that the command line names
    the host of the models. `of_others` says whether others wrote the workflow, as it was where it was submitted; None
    where it runs there. `default_model` is the user's default model if a workflow here names none, and `aliases`
    are the models of the aliases that workflows here name.
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
    prices: PriceTable = field(default_factory=_no_prices)
    files: Mapping[str, str] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    hooks: Hooks | None = field(default=None, compare=False, repr=False)
    store: StorePlace = field(default=StorePlace(Path()), compare=False)
    is_complete: bool = True
    places: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    packaged: str = ""
    host_is_typed: bool = False
    of_others: bool | None = None
    default_model: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        """The folder of its lock, and of relative mounts and files of secrets: a packaged workflow has the caller's."""
        return Path.cwd() if self.packaged else self.base_dir

    def called(self) -> tuple[PlannedTool, ...]:
        """Return every tool that an agent or a step may call."""
        return called_by(self.agents, self.override_tools, self.call_tools)

    def planned(self, findings: Sequence[Finding], lock: LockComparison | None = None) -> Plan:
        """Return the plan: this workflow with all findings about it, each once, and the parts its lock vouches for."""
        resolved: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(ResolvedWorkflow)}
        vouched: dict[str, Any] = {"locked": lock.locked, "pinned": lock.pinned} if lock else {}
        return Plan(**resolved, findings=tuple(dict.fromkeys(findings)), **vouched)


@dataclass(frozen=True)
class Plan(ResolvedWorkflow):
    """Everything `run` needs and nothing it must look up: the value between checking and running.

    `locked` are the distributions and custom references that a lock vouches for. `pinned` are its entries for MCP
    servers by id, to compare with the started servers.
    """

    findings: tuple[Finding, ...] = ()
    locked: frozenset[str] = frozenset()
    pinned: Mapping[str, LockedServer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LockComparison:
    """A workflow beside its lock: differences as findings, and `locked` and `pinned` of its plan."""

    findings: tuple[Finding, ...]
    locked: frozenset[str]
    pinned: Mapping[str, LockedServer]


# Walks over planned tools, their parts, and the agents and workflows among them.


# The JSON Schema of a workflow's inputs.


def workflow_input_schema(spec: WorkflowSpec) -> Mapping[str, Any]:
    """Return the input schema of a workflow as a tool: the inputs that it declares."""
    declared = spec.inputs.declared()
    properties = {name: _property(input_spec) for name, input_spec in declared.items()}
    required = [name for name in spec.inputs.required if spec.inputs.required[name].default is None]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _property(input_spec: InputSpec) -> dict[str, Any]:
    keys = {
        "type": input_spec.type,
        "description": input_spec.description,
        "default": input_spec.default,
        "enum": list(input_spec.enum) if input_spec.enum is not None else None,
    }
    return {word: value for word, value in keys.items() if value is not None}


# Tools that a workflow makes, as the catalog would describe them.


# Takes the place of the distribution of an installed tool.
OWNER = "this workflow"


# Annotations that hold for the whole only if they hold for every part.
_OF_ALL = ("readOnlyHint", "idempotentHint")


# Annotations that hold for the whole as soon as they hold for one part.
_OF_ANY = ("destructiveHint", "openWorldHint")


# A composed tool does nothing by itself: policy is asked about the capabilities of its parts.
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
    all_hints = [_hints(part) for part in parts]
    of_all = {word: True for word in _OF_ALL if all(hints.get(word) is True for hints in all_hints)}
    of_any = {word: True for word in _OF_ANY if any(hints.get(word) is True for hints in all_hints)}
    return {**of_all, **of_any}


def with_parts(
    tools: Iterable[PlannedTool], *, of_others: bool = True, seen: set[int] | None = None
) -> Iterator[PlannedTool]:
    """Yield tools, each followed by those that it is made of, however deep.

    Args:
        of_others: Whether to go on into the workflows among them, with tools of their own.
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
    definitions = definitions_in(tools, of_others=False)
    return {definition.plan.file: definition for definition in definitions if isinstance(definition, WorkflowAsTool)}


def agents_in(tools: Iterable[PlannedTool]) -> Iterator[PlannedAgent]:
    """Yield every agent that a call of one of these tools may start; each may come twice."""
    for definition in definitions_in(tools):
        if isinstance(definition, AgentAsTool):
            yield definition.agent
        elif isinstance(definition, WorkflowAsTool):
            yield from definition.plan.agents.values()


def all_workflows_in(plan: ResolvedWorkflow) -> Iterator[Plan]:
    """Yield every workflow among the tools of a plan, at any depth; each file may come twice."""
    for definition in workflows_in(plan.called()).values():
        yield definition.plan
        yield from all_workflows_in(definition.plan)
