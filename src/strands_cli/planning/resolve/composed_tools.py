"""Tools made of tools: a workflow's composites, agents and other workflows, each resolved to one tool of the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from strands_cli.errors import Code, Finding, InvalidInput, UsageError, Where, clear_edit, suggest
from strands_cli.planning.plan_values import (
    AgentAsTool,
    Composite,
    InnerCall,
    Plan,
    PlannedAgent,
    PlannedTool,
    WorkflowAsTool,
    WorkflowTool,
    annotations_of,
    workflow_input_schema,
    workflow_record,
)
from strands_cli.planning.resolve.resolve_context import Place, ResolveContext, Surroundings
from strands_cli.planning.single_call import check_call_input
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.phrases import shortened
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.findings import NO_EFFECT, UNKNOWN_AGENT
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.packaged_listing import PACKAGE
from strands_cli.workflow.skill_folders import named_file
from strands_cli.workflow.steps import CompositeTool, ToolEntry
from strands_cli.workflow.templates.template import is_prompt_template
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import FILE_UNREADABLE, stored_name

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.workflow.model import LoadedWorkflow

TOOL_CYCLE = Code(
    "tool-cycle",
    "A tool contains itself, or tools too many levels deep.",
    "Remove one; give an agent that is a tool a list of `tools`.",
)

# How deep tools may be made of tools; agents that call agents that call agents cost more with each level.
MAX_DEPTH = 8
MAX_PROMPT_SHOWN = 300
Made = TypeVar("Made")
Definition = Composite | AgentAsTool | WorkflowAsTool


@dataclass(frozen=True, slots=True)
class PartPlanners:
    """The functions that plan the parts of composed tools.

    Attributes:
        call: Resolves the tool of one call: its reference, its place, and words for the call.
        agent: Plans an agent by its id.
        workflow: Plans another workflow in its surroundings, with the context of this one.
    """

    call: Callable[[str, str, str], PlannedTool | None]
    agent: Callable[[str], PlannedAgent]
    workflow: Callable[[LoadedWorkflow, ResolveContext, Surroundings], Plan]


@dataclass(slots=True)
class ComposedTools:
    """Resolves the composed tools of a workflow, each once; a tool inside itself is a finding."""

    context: ResolveContext
    planners: PartPlanners
    making: list[Place] = field(default_factory=list)
    made: dict[Place, Any] = field(default_factory=dict)
    _places: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for index, composite in enumerate(self.spec.tools.composite):
            self._places.setdefault(composite.id, index)
        self.making += self.context.around.making or [(stored_name(self.document.file), "")]

    @property
    def spec(self) -> WorkflowSpec:
        """The workflow."""
        return self.context.spec

    @property
    def document(self) -> Document:
        """Its file."""
        return self.context.document

    def composites(self) -> tuple[PlannedTool, ...]:
        """Return every composite tool of the workflow."""
        tools_of_agents = [
            self.composite(ToolEntry(tool=composite.id), self.document.where(f"/tools/composite/{index}"))
            for index, composite in enumerate(self.spec.tools.composite)
        ]
        return tuple(tool for tools in tools_of_agents for tool in tools)

    def names(self, entry: ToolEntry) -> bool:
        """Return whether an entry names a composite tool."""
        return entry.tool in self._places

    def composite(self, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        """Return a composite tool; faults of its steps are reported once."""
        index = self._places[entry.tool]
        composite = self.spec.tools.composite[index]
        at = f"/tools/composite/{index}"
        composite_tool = self._once(self._here(composite.id), where, lambda: self._composite(composite, at))
        if composite_tool is None:
            return ()
        record = workflow_record(
            "composite",
            composite.id,
            composite.description,
            composite.input_schema,
            annotations_of(composite_tool.parts),
        )
        return self._planned(entry, record, composite_tool, where)

    def _composite(self, composite: CompositeTool, pointer: str) -> Composite | None:
        calls = []
        for number, step in enumerate(composite.steps):
            at = f"{pointer}/steps/{number}"
            tool = self.planners.call(step.tool, f"{at}/tool", f"step {number + 1} of '{composite.id}'")
            if tool is not None:
                self.context.findings += check_call_input(tool, step.input, f"{at}/input", self.document)
                calls.append(InnerCall(tool, step.input, step.save_as))
        return Composite(composite.id, tuple(calls), composite.output)

    def agents(self) -> dict[str, PlannedAgent]:
        """Return every agent of the workflow by its id."""
        planned = {agent_id: self.planned_agent(agent_id) for agent_id in self.spec.agents}
        return {agent_id: agent for agent_id, agent in planned.items() if agent is not None}

    def planned_agent(self, agent_id: str, where: Where | None = None) -> PlannedAgent | None:
        """Return an agent with its tools, or None where it is a part of itself."""
        place_key = self._here(f"agent:{agent_id}")
        return self._once(place_key, where, lambda: self.planners.agent(agent_id))

    def agent(self, agent_id: str, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        """Return an agent as a tool."""
        if agent_id not in self.spec.agents:
            others = f"there are: {', '.join(self.spec.agents)}" if self.spec.agents else "add it under `agents:`"
            fix = suggest(agent_id, self.spec.agents, others, form="'agent:{}'")
            message = f"the workflow has no agent '{agent_id}'"
            edits = clear_edit(agent_id, self.spec.agents, of_author=True)
            self.context.findings.append(Finding(UNKNOWN_AGENT, message, where, fix, edits=edits))
            return ()
        agent = self.planned_agent(agent_id, where)
        if agent is None:
            return ()
        if agent.keeps_conversation and self.spec.context_policy.memory == "step":
            memory = self.spec.agents[agent_id].memory
            message = (
                f"the agent '{agent_id}' has `memory: {memory}`, and starts afresh wherever it is called as a tool"
            )
            fix = "leave `memory` out, or give it what it has to know with each call"
            self.context.report(NO_EFFECT, message, where, fix, "warning")
        definition = AgentAsTool(agent)
        hints = _annotations(definition, notes=self.spec.context_policy.notes is not None)
        record = workflow_record("agent", agent_id, _about(agent), agent_input_schema(agent), hints)
        return self._planned(entry, record, definition, where)

    def workflow(self, path: str, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        """Return another workflow as a tool; all of its faults are reported at places in its own file."""
        file = self._file(path, where)
        if file is None:
            return ()
        definition = self._once((stored_name(file), ""), where, lambda: self._workflow(file, path, where))
        if definition is None:
            return ()
        spec = definition.plan.spec
        about, takes, notes = spec.description or spec.name, workflow_input_schema(spec), spec.context_policy.notes
        hints = _annotations(definition, notes=notes is not None)
        record = workflow_record("workflow", file.stem, about, takes, hints)
        return self._planned(entry, record, definition, where)

    def _file(self, path: str, where: Where) -> Path | None:
        around = self.context.around
        file = named_file(path, around.base_dir, around.base_dir, where, around.snapshot, "workflow")
        if isinstance(file, Finding):
            self.context.findings.append(file)
            return None
        return file

    def _workflow(self, file: Path, path: str, where: Where) -> WorkflowAsTool | None:
        context, around = self.context, self.context.around
        is_packaged, snapshot = path.startswith(PACKAGE), around.snapshot
        if is_packaged:
            snapshot = replace(snapshot, folder=file.parent, packaged=path.removeprefix(PACKAGE))
        elif snapshot.folder:
            snapshot = replace(snapshot, folder=file.parent)
        document = self._read(file, path, where)
        if document is None:
            return None
        workflow = load_spec(document, snapshot)
        context.findings += [finding for finding in workflow.findings if finding.code != UNDECLARED_VARIABLE]
        if workflow.valid is None:
            return None
        runtime = self.spec.runtime
        inside = replace(
            around,
            base_dir=file.parent,
            options=replace(around.options, variables={}, values={}, allow=(), yes=False, tools=()),
            snapshot=snapshot,
            rules=tuple(context.rules),
            recording=around.base_dir / runtime.recording if runtime.recording else around.recording,
            making=tuple(self.making),
        )
        packages = {**workflow.packages, path: str(file)} if is_packaged else workflow.packages
        # Its own text is one of the files of the workflow around it.
        whole = replace(workflow, files=(document, *workflow.files), packages=packages)
        plan = self.planners.workflow(whole, context, inside)
        context.findings += plan.findings
        context.is_complete &= plan.is_complete
        return WorkflowAsTool(plan, document)

    def _read(self, file: Path, path: str, where: Where) -> Document | None:
        """Return the file as a document that findings call by its path from here."""
        beside = Path(self.document.file).parent if not self.document.file.startswith("<") else Path()
        shown_path = self.context.around.base_dir / path if self.context.around.snapshot.folder else beside / path
        shown_path = file if path.startswith(PACKAGE) else shown_path
        try:
            document = self.context.around.snapshot.read(file, Path(shown_path))
        except UsageError as error:
            reason = error.findings[0].message if error.findings else error.message
            self.context.report(FILE_UNREADABLE, reason, where, "correct the path")
            return None
        except InvalidInput as error:
            self.context.findings += [replace(finding, where=finding.where or where) for finding in error.findings]
            return None
        return document

    def _planned(
        self, entry: ToolEntry, record: ToolRecord, definition: Definition, where: Where
    ) -> tuple[PlannedTool, ...]:
        fix = "configure the tools that it is made of"
        self.context.refuse_config(entry, "made in this workflow", where, fix)
        depth = 1 + max((part.depth for part in definition.parts), default=0)
        if depth > MAX_DEPTH:
            message = f"'{entry.tool}' is made of tools {depth} levels deep; at most {MAX_DEPTH} are allowed"
            self.context.report(TOOL_CYCLE, message, where, "call the inner ones from a step instead")
        name = entry.as_ or re.sub(r"[^a-zA-Z0-9_-]", "_", record.name)[:64]
        tool = WorkflowTool(name=name, ref=entry.tool, record=record, definition=definition, depth=depth)
        return (self.context.decide(tool, where),)

    def _here(self, part: str) -> Place:
        return stored_name(self.document.file), part

    def _once(self, position: Place, where: Where | None, make: Callable[[], Made]) -> Made | None:
        """Make a thing the first time it is named, and never inside itself."""
        if position in self.made:
            result: Made | None = self.made[position]
            return result
        if position in self.making:
            self._report_cycle(self.making[self.making.index(position) :], position, where)
            return None
        if len(self.making) > 3 * MAX_DEPTH:  # deeper than any that `depth_of` lets pass
            self.context.omit(TOOL_CYCLE, "tools are made of tools too many levels deep", where, "end the chain")
            return None
        self.making.append(position)
        try:
            result = self.made[position] = make()
        finally:
            self.making.pop()
        return result

    def _report_cycle(self, way: Sequence[Place], last: Place, where: Where | None) -> None:
        names = [part or Path(file).name for file, part in (*way, last)]
        message = f"{names[-1]} would be a tool of itself: {' -> '.join(names)}"
        self.context.omit(TOOL_CYCLE, message, where, "leave one of them out; an agent without `tools` has them all")


def _annotations(definition: Definition, *, notes: bool) -> dict[str, Any]:
    """Return the annotations of a tool from its parts; one whose agents leave `notes` writes."""
    return {} if notes else annotations_of(definition.parts)


def agent_input_schema(agent: PlannedAgent) -> Mapping[str, Any]:
    """Return the input of an agent as a tool: its `input_schema`, under `input` if no object, else a text."""
    schema = agent.input_schema
    if schema is not None and (schema.get("type") == "object" or "properties" in schema):
        return schema
    text = {"type": "string", "minLength": 1, "description": "What it is to do, with all that it has to know."}
    inner = {word: value for word, value in (schema or text).items() if word not in ("$defs", "definitions")}
    shared = {word: value for word, value in (schema or {}).items() if word in ("$defs", "definitions")}
    return {
        "type": "object",
        "properties": {"input": inner},
        "required": ["input"],
        "additionalProperties": False,
        **shared,
    }


def _about(agent: PlannedAgent) -> str:
    """Return the description of an agent that a model may call."""
    task = f"Gives a task to the agent '{agent.id}' and returns its answer. It remembers nothing of earlier tasks."
    prompt = " ".join(agent.prompt.split())
    if is_prompt_template(prompt) or not prompt:
        return task
    prompt_start = shortened(prompt, MAX_PROMPT_SHOWN)
    return f"{task} What it was told about itself: {prompt_start}"
