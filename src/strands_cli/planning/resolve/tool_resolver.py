"""Tools of a plan: every name a workflow uses, resolved against its own tools and the catalog, with policy's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from strands_cli.catalog.resolution import BAD_TOOL_REF, UNKNOWN_TOOL
from strands_cli.errors import MOST_ALIKE, Code, Finding, StrandsCliError, Where
from strands_cli.planning.plan_values import Plan, PlannedAgent, PlannedTool, WorkflowTool, entry_key
from strands_cli.planning.planned_tool import InstalledTool, McpTool, ObjectTool, PythonTool
from strands_cli.planning.resolve.composed_tools import TOOL_CYCLE, ComposedTools, PartPlanners
from strands_cli.planning.resolve.custom_tools import python_folders, report_folder, resolve_custom, tools_in
from strands_cli.planning.resolve.http_executors import planned_executors
from strands_cli.planning.resolve.mcp_servers import planned_servers, resolve_server_tool
from strands_cli.planning.resolve.resolve_context import TOOL as SKILL
from strands_cli.planning.resolve.resolve_context import (
    TWIN_TOOL_NAMES,
    ResolveContext,
    Surroundings,
    planned_skills,
    renamed_skill,
)
from strands_cli.planning.resolve.single_tool import (
    TOOL_DENIED,
    as_mentioned,
    family_of,
    installed_tool,
    is_denied_by_policy,
)
from strands_cli.quick_dataclass import dataclass
from strands_cli.toolref import FAMILY, ToolRef, ToolRefError
from strands_cli.workflow.steps import ToolEntry

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.workflow.model import LoadedWorkflow

SHADOWED_TOOL = Code(
    "shadowed-tool",
    "A name that the workflow defines hides an installed tool.",
    "Rename it, or write native:NAME for the installed one.",
)
LEGACY_TOOL = Code("legacy-tool", "A tool's name has the form of an older tool collection.", "Write native:NAME.")

# Words that older files put into an agent's list to mean "all tools of that section"; the loader warns of them.
SECTION_WORDS = ("python", "mcp", "http_executors")


def _no_agent(agent_id: str, _resolver: ToolResolver) -> PlannedAgent:
    raise KeyError(agent_id)


def _no_workflow(workflow: LoadedWorkflow, _outer: ResolveContext, _around: Surroundings) -> Plan:
    raise KeyError(workflow.document.file)


@dataclass(slots=True)
class ToolResolver:
    """Resolves the tool entries of one workflow.

    Attributes:
        context: The context of the workflow; it collects the findings.
        plan_agent: Plans an agent by its id.
        plan_workflow: Plans another workflow as a tool of this one.
        objects: The records of the Python objects that the program adds.
    """

    context: ResolveContext
    plan_agent: Callable[[str, ToolResolver], PlannedAgent] = _no_agent
    plan_workflow: Callable[[LoadedWorkflow, ResolveContext, Surroundings], Plan] = _no_workflow
    objects: Sequence[ToolRecord] = ()
    workflow_tools: tuple[PlannedTool, ...] = ()
    listed: tuple[PlannedTool, ...] = ()
    composed: ComposedTools = field(init=False)
    _executors: Mapping[str, InstalledTool | None] = field(init=False, default_factory=dict)
    _servers: Mapping[str, McpTool | None] = field(init=False, default_factory=dict)
    _skill: WorkflowTool | None = field(init=False, default=None)
    _is_complete: bool = field(init=False, default=False)
    # Names that the workflow gives to tools of its own that could not be resolved, each with a finding.
    _unresolved: set[str] = field(init=False, default_factory=set)
    # The tools that entries name, with the place where each was first resolved, and the findings there.
    _resolutions: dict[str, tuple[tuple[PlannedTool, ...], Where, list[Finding]]] = field(
        init=False, default_factory=dict
    )
    # The tools of records before they are named and configured.
    _of_records: dict[int, InstalledTool] = field(init=False, default_factory=dict)
    # The workflow's own tools by name and by reference, and the tools that these are of.
    _by_word: dict[str, tuple[PlannedTool, ...]] = field(init=False, default_factory=dict)
    _called_of: tuple[PlannedTool, ...] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        planners = PartPlanners(self.call_tool, lambda agent_id: self.plan_agent(agent_id, self), self.plan_workflow)
        self.composed = ComposedTools(self.context, planners)
        objects = self._all_objects()
        self._executors = planned_executors(self.context)
        self._servers = planned_servers(self.context)
        self._skill = planned_skills(self.context)
        workflow_parts: tuple[PlannedTool | None, ...] = (
            *self._executors.values(),
            *self._servers.values(),
            self._skill,
        )
        self.workflow_tools = (*objects, *(tool for tool in workflow_parts if tool is not None))
        listed = self.listed = self.resolve_all(self.context.spec.tools.python, "/tools/python")
        identities = [tool.identity for tool in self.workflow_tools]
        self.workflow_tools = (*self.workflow_tools, *(tool for tool in listed if tool.identity not in identities))
        self.workflow_tools = (*self.workflow_tools, *self.composed.composites())
        self._is_complete = True

    def agent_tools(
        self, entries: Sequence[ToolEntry] | None, pointer: str, *, has_skills: bool = True
    ) -> tuple[PlannedTool, ...]:
        """Return an agent's tools: all of the workflow's without a list, else those listed; names must be unique.

        With `has_skills` the skills of the workflow come with either.
        """
        if entries is None and not self._is_complete:
            message = "an agent that is one of the workflow's tools has no `tools`, so it would be one of its own"
            fix = "list the tools that it may use: `tools: []` for none"
            self.context.omit(TOOL_CYCLE, message, self.context.document.where(pointer), fix)
            return ()
        own = self._of_all() if entries is None else self.resolve_all(entries, pointer)
        others = tuple(tool for tool in own if tool.record.kind != "skill")
        if not has_skills:
            own = others
        elif own == others and self._skill is not None:
            own = (*own, self._skill)
        return self.distinct((*own, *self._for_retrieval()), "/tools/python" if entries is None else pointer)

    def _of_all(self) -> tuple[PlannedTool, ...]:
        """Return the tools of an agent without a list."""
        retrieval = self.context.spec.context_policy.retrieval
        if retrieval is None or not retrieval.replaces_tools or not retrieval.jit_tools:
            return self.workflow_tools
        listed = {tool.identity for tool in self.listed}
        return tuple(tool for tool in self.workflow_tools if tool.identity not in listed)

    def _for_retrieval(self) -> tuple[PlannedTool, ...]:
        """Return the tools and the servers that every agent has besides its own list."""
        retrieval = self.context.spec.context_policy.retrieval
        if retrieval is None:
            return ()
        named = [ToolEntry(tool=name) for name in retrieval.jit_tools]
        tools = self.resolve_all(named, "/context_policy/retrieval/jit_tools")
        return (*tools, *filter(None, (self._servers.get(name) for name in retrieval.mcp_servers)))

    def distinct(self, tools: Iterable[PlannedTool], pointer: str) -> tuple[PlannedTool, ...]:
        """Return the tools without repetitions; two tools of one name are a finding."""
        first_tools: dict[str, PlannedTool] = {}
        for tool in tools:
            twin = first_tools.setdefault(tool.name, tool)
            if twin.identity != tool.identity:
                message = f"two tools are called '{tool.name}' here: {twin.ref} and {tool.ref}"
                fix = "give one of them another name: {tool: ..., as: other_name}"
                self.context.omit(TWIN_TOOL_NAMES, message, self.context.document.where(pointer), fix)
        return tuple(first_tools.values())

    def resolve_all(self, entries: Iterable[ToolEntry], pointer: str) -> tuple[PlannedTool, ...]:
        """Resolve a list of entries; a class or suite named as a whole gives all its tools."""
        tools: list[PlannedTool] = []
        for index, entry in enumerate(entries):
            tools += self.resolve(entry, f"{pointer}/{index}")
        return tuple(tools)

    def resolve(self, entry: ToolEntry, pointer: str) -> tuple[PlannedTool, ...]:
        """Resolve one entry: among the workflow's own names first, then in the catalog."""
        if entry.tool in SECTION_WORDS:
            return self._section(entry.tool)
        tools = self._resolve(entry, self.context.document.where(pointer))
        self.context.is_complete &= bool(tools)
        return tools

    def _resolve(self, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        of_workflow = self._called(entry.tool)
        if of_workflow and not entry.config and entry.as_ is None:
            self._check_shadow(entry.tool, of_workflow, where)
            return of_workflow
        if entry.tool in self._unresolved:
            return ()
        if entry.tool in self._executors:
            return self._executor(entry, where)
        if self.composed.names(entry):
            return self.composed.composite(entry, where)
        if entry.tool in self._servers:
            return self._server_tool((entry.tool, ""), entry, where)
        if record := next((record for record in self.objects if record.name == entry.tool), None):
            self.context.refuse_config(entry, "an object of this program", where, "make the object with its settings")
            return (self._object(record, entry, where),)
        if entry.tool == SKILL and self.context.spec.skills:
            return renamed_skill(self.context, self._skill, entry, where)
        try:
            ref = ToolRef.parse(entry.tool)
        except ToolRefError as error:
            self.context.report(BAD_TOOL_REF, str(error), where, None)
            return ()
        tools = self._referred(ref, entry, where)
        if not tools and not self._is_complete:
            self._unresolved |= {entry.as_ or ref.member or ref.name} - {entry.tool}
        return tools

    def _called(self, word: str) -> tuple[PlannedTool, ...]:
        """Return the workflow's own tools of a name or reference."""
        if self._called_of is not self.workflow_tools:
            self._called_of = self.workflow_tools
            self._by_word = {}
            for tool in self.workflow_tools:
                for own in dict.fromkeys((tool.name, tool.ref)):
                    self._by_word[own] = (*self._by_word.get(own, ()), tool)
        return self._by_word.get(word, ())

    def _referred(self, ref: ToolRef, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        """Return the tools of a reference: they are looked up once, and faults of them reported at each place."""
        if ref.kind == "custom":
            report_folder(ref, where, self.context)
        if ref.kind in ("agent", "workflow", "mcp") and not self._is_complete:  # it may be the one being resolved
            return self._looked_up(ref, entry, where)
        key, findings = entry_key(entry), self.context.findings
        if (memo := self._resolutions.get(key)) is None:
            reported = len(findings)
            tools = self._looked_up(ref, entry, where)
            self._resolutions[key] = tools, where, findings[reported:]
            return tools
        tools, first, faults = memo
        findings += [replace(fault, where=where) for fault in faults if fault.where == first]
        return tools

    def _looked_up(self, ref: ToolRef, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        if ref.kind == "agent":
            return self.composed.agent(ref.name, entry, where)
        if ref.kind == "workflow":
            return self.composed.workflow(ref.name, entry, where)
        if ref.kind == "mcp":
            return self._server_tool((str(ref.server), ref.name), entry, where)
        if ref.kind == "custom":
            return resolve_custom(ref, entry, where, self.context)
        return self._family(ref, entry, where) if ref.member == FAMILY else self._from_catalog(ref, entry, where)

    def _family(self, ref: ToolRef, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        family = family_of(ref, self.context.catalog, where)
        if isinstance(family, Finding):
            self.context.findings.append(family)
            return ()
        if entry.as_ is not None:
            message = f"'{entry.tool}' holds {len(family)} tools, so `as: {entry.as_}` names none of them"
            self.context.report(TWIN_TOOL_NAMES, message, where, f"name one: native:{family[0].ref_name}")
        refs = [
            f"native:{record.distribution}/{record.ref_name}" + (f"@{ref.specifier}" if ref.specifier else "")
            for record in family
        ]
        each = [entry.model_copy(update={"tool": ref, "as_": None}) for ref in refs]
        return tuple(tool for entry in each for tool in self._from_catalog(ToolRef.parse(entry.tool), entry, where))

    def _server_tool(self, ref: tuple[str, str], entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        return resolve_server_tool(ref, entry, where, self._servers, self.context)

    def call_tool(self, ref: str, pointer: str, key: str) -> PlannedTool | None:
        """Resolve the tool of a tool-call step, which must be one, and one that policy lets be called at all."""
        where = self.context.document.where(pointer)
        if ref in SECTION_WORDS:
            message = f"'{ref}' is a section of `tools`, not a tool"
            self.context.omit(UNKNOWN_TOOL, message, where, "name one tool")
            return None
        tools = self.resolve(ToolEntry(tool=ref), pointer)
        if len(tools) > 1:
            names = ", ".join(tool.name for tool in tools)
            message = f"'{ref}' holds several tools ({names}); a step calls one"
            example = tools[0].ref if ref.endswith(".*") else f"{ref}.{tools[0].name}"
            self.context.omit(BAD_TOOL_REF, message, where, f"name one: {example}")
        if len(tools) != 1:
            return None
        tool = tools[0]
        if isinstance(tool, McpTool) and tool.member is None:
            message = f"'{ref}' is an MCP server, which holds several tools; a step calls one"
            self.context.omit(BAD_TOOL_REF, message, where, f"name one: mcp:{tool.server.id}/TOOL")
            return None
        if tool.decision.effect == "deny" and not is_denied_by_policy(tool):
            message = f"{key} calls '{tool.name}', which is denied: {tool.decision.rule}"
            self.context.report(TOOL_DENIED, message, where, "change the rule, or leave the step out")
        return tool

    def _section(self, word: str) -> tuple[PlannedTool, ...]:
        """Return all tools of a section of `tools`."""
        executors, servers = tuple(filter(None, self._executors.values())), tuple(filter(None, self._servers.values()))
        if word == "http_executors":
            return executors
        if word == "mcp":
            return servers
        others = (*executors, *servers)
        return tuple(
            tool
            for tool in self.workflow_tools
            if tool not in others and tool.record.kind not in ("composite", "skill")
        )

    def _executor(self, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        """Return an executor under another name; one that cannot be used has its finding already."""
        planned = self._executors[entry.tool]
        self.context.refuse_config(entry, "configured in tools.http_executors", where, "write it there")
        if planned is None:
            return ()
        return (self.context.decide(replace(planned, name=entry.as_ or planned.name), where),)

    def _all_objects(self) -> tuple[PlannedTool, ...]:
        """Return the objects of the program; they come before installed tools of their names."""
        where = self.context.document.where("")
        for record in self.objects:
            if (hidden := self.context.catalog.get(record.name)) is not None:
                message = f"the object '{record.name}' of this program hides the tool of {hidden.distribution}"
                fix = f"write native:{record.name} for the installed one"
                self.context.report(SHADOWED_TOOL, message, where, fix, "warning")
        return tuple(self._object(record, ToolEntry(tool=record.name), where) for record in self.objects)

    def _object(self, record: ToolRecord, entry: ToolEntry, where: Where) -> PlannedTool:
        tool = ObjectTool(name=entry.as_ or record.name, ref=entry.tool, record=record, config=entry.config or {})
        return self.context.decide(tool, where)

    def _check_shadow(self, name: str, of_workflow: Sequence[PlannedTool], where: Where) -> None:
        """Report a name that the workflow gives by `as:` and that hides an installed tool."""
        hidden = self.context.catalog.get(name)
        if hidden is None or any(
            isinstance(tool, PythonTool) or (tool.record.name == name and not isinstance(tool, WorkflowTool))
            for tool in of_workflow
        ):
            return
        message = f"'{name}' means {of_workflow[0].ref} here and hides the tool '{name}' of {hidden.distribution}"
        fix = f"write native:{name} for the installed one, or choose another `as:`"
        self.context.report(SHADOWED_TOOL, message, where, fix, "warning")

    def _from_catalog(self, ref: ToolRef, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        try:
            record = self.context.catalog.resolve(ref, suggests=len(self.context.findings) < MOST_ALIKE)
        except StrandsCliError as error:
            own = tools_in(ref.name, python_folders(self.context)) if ref.kind == "short" else ()
            fix = f"name its tool: {' or '.join(own)}" if own else None
            self.context.findings += [
                replace(finding, where=where, fix=fix or finding.fix) for finding in error.findings
            ]
            return ()
        if ref.kind == "legacy" and record.name in self.context.catalog.by_name:
            message = (
                f"'{entry.tool}' is the name of an older collection; '{record.name}' of {record.distribution} is used"
            )
            self.context.report(LEGACY_TOOL, message, where, f"write native:{record.ref_name}", "warning")
        self.context.findings += [replace(deprecation, where=where) for deprecation in record.deprecations]
        self.context.check_config(record, entry.config, where)
        if not record.members:
            return (self._installed(record, entry, where, entry.as_),)
        if entry.as_ is not None:
            message = f"'{entry.tool}' holds {len(record.members)} tools, so `as: {entry.as_}` names none of them"
            fix = f"name one: native:{record.members[0].ref_name}"
            self.context.report(TWIN_TOOL_NAMES, message, where, fix)
        return tuple(self._installed(member, entry, where) for member in record.members)

    def _installed(self, record: ToolRecord, entry: ToolEntry, where: Where, name: str | None = None) -> PlannedTool:
        # The record is kept with its tool, so that no other has its identity.
        tool = self._of_records.get(id(record))
        if tool is None:
            tool = self._of_records[id(record)] = installed_tool(record, self.context.catalog, entry.tool)
        return self.context.decide(as_mentioned(tool, entry.tool, name, entry.config), where)
