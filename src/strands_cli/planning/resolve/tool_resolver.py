"""Tools of a plan: every name a workflow uses, resolved against its own tools and the catalog, with policy's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog import Catalog, ToolRecord
from strands_cli.config import Settings
from strands_cli.errors import Denied, Finding, InvalidInput, StrandsCliError, UsageError, Where, did_you_mean
from strands_cli.hooks.hook_values import HookContext
from strands_cli.planning.plan import PlannedAgent, PlannedTool
from strands_cli.planning.policy_requests import request_of, sources_of
from strands_cli.planning.resolve.composed import OwnTools, Surroundings
from strands_cli.planning.resolve.http_executors import planned_executors
from strands_cli.planning.resolve.mcp_servers import planned_servers, served_tool, servers_of
from strands_cli.planning.resolve.planned_skills import TOOL as SKILL
from strands_cli.planning.resolve.planned_skills import planned_skills, renamed_skill
from strands_cli.planning.resolve.tool_config import secrets_in
from strands_cli.policy import Request, Rule, conditional_rules, decide, grant_of, names_custom
from strands_cli.toolref import ToolRef, ToolRefError
from strands_cli.workflow.document import Document
from strands_cli.workflow.model import ToolEntry, WorkflowSpec

if TYPE_CHECKING:
    from strands_cli.hooks.manager import Hooks

# Words that older files put into an agent's list to mean "all tools of that section"; the loader warns of them.
SECTION_WORDS = ("python", "mcp", "http_executors")


@dataclass(slots=True)
class ToolResolver:
    """Resolves the tool entries of one workflow; what is wrong collects in `findings`."""

    spec: WorkflowSpec
    document: Document
    catalog: Catalog
    rules: Sequence[Rule]
    settings: Settings
    given: Sequence[ToolRecord] = ()
    hooks: Hooks | None = None
    findings: list[Finding] = field(default_factory=list)
    workflow_tools: tuple[PlannedTool, ...] = ()
    executors: dict[str, PlannedTool | None] = field(default_factory=dict)
    servers: dict[str, PlannedTool | None] = field(default_factory=dict)
    around: Surroundings | None = None
    plan_agent: Callable[[str, ToolResolver, Surroundings], PlannedAgent] | None = None
    own: OwnTools = field(init=False)
    _is_complete: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        around = self.around or Surroundings(Path.cwd())
        self.own = OwnTools(self, around, self.plan_agent or _no_agent)
        given = self._all_given()
        self.executors = planned_executors(self)
        self.servers = planned_servers(self)
        self.workflow_tools = (*given, *filter(None, self.executors.values()), *servers_of(self.servers))
        self.workflow_tools = (*self.workflow_tools, *planned_skills(self))
        listed = self.resolve_all(self.spec.tools.python, "/tools/python")
        known = [tool.identity for tool in self.workflow_tools]
        self.workflow_tools = (*self.workflow_tools, *(tool for tool in listed if tool.identity not in known))
        self.workflow_tools = (*self.workflow_tools, *self.own.composites())
        self._is_complete = True

    def agent_tools(self, entries: Sequence[ToolEntry] | None, pointer: str) -> tuple[PlannedTool, ...]:
        """Return an agent's tools: all of the workflow's without a list, else those listed; names must be unique."""
        if entries is None and not self._is_complete:
            message = "an agent that is one of the workflow's tools has no `tools`, so it would be one of its own"
            fix = "list the tools that it may use: `tools: []` for none"
            self.findings.append(Finding("tool-cycle", message, self.document.where(pointer), fix))
            return ()
        if entries is None:
            return self.distinct((*self.workflow_tools, *self._for_retrieval()), "/tools/python")
        return self.distinct((*self.resolve_all(entries, pointer), *self._for_retrieval()), pointer)

    def _for_retrieval(self) -> tuple[PlannedTool, ...]:
        """Return the tools and the servers that every agent has, whatever it lists."""
        retrieval = self.spec.context_policy.retrieval
        if retrieval is None:
            return ()
        named = [ToolEntry(tool=name) for name in retrieval.jit_tools]
        tools = self.resolve_all(named, "/context_policy/retrieval/jit_tools")
        return (*tools, *filter(None, (self.servers.get(name) for name in retrieval.mcp_servers)))

    def distinct(self, tools: Iterable[PlannedTool], pointer: str) -> tuple[PlannedTool, ...]:
        """Return the tools without repetitions; two tools of one name are a finding."""
        seen: dict[str, PlannedTool] = {}
        for tool in tools:
            twin = seen.setdefault(tool.name, tool)
            if twin.identity != tool.identity:
                message = f"two tools are called '{tool.name}' here: {twin.ref} and {tool.ref}"
                fix = "give one of them another name: {tool: ..., as: other_name}"
                self.findings.append(Finding("twin-tool-names", message, self.document.where(pointer), fix))
        return tuple(seen.values())

    def resolve_all(self, entries: Iterable[ToolEntry], pointer: str) -> tuple[PlannedTool, ...]:
        """Resolve a list of entries; a class or suite named as a whole gives all its tools."""
        found: list[PlannedTool] = []
        for index, entry in enumerate(entries):
            found += self.resolve(entry, f"{pointer}/{index}")
        return tuple(found)

    def resolve(self, entry: ToolEntry, pointer: str) -> tuple[PlannedTool, ...]:
        """Resolve one entry: among the workflow's own names first, then in the catalog."""
        if entry.tool in SECTION_WORDS:
            return self._section(entry.tool)
        where = self.document.where(pointer)
        own = [tool for tool in self.workflow_tools if entry.tool in (tool.name, tool.ref)]
        if own and not entry.config and entry.as_ is None:
            self._check_shadow(entry.tool, own, where)
            return tuple(own)
        if entry.tool in self.executors:
            return self._executor(entry, where)
        if self.own.names(entry):
            return self.own.composite(entry, where)
        if entry.tool in self.servers:
            return served_tool(entry.tool, "", entry, where, self)
        if given := next((record for record in self.given if record.name == entry.tool), None):
            return self._given(given, entry, where)
        if entry.tool == SKILL and self.spec.skills:
            return renamed_skill(self, entry, where)
        try:
            ref = ToolRef.parse(entry.tool)
        except ToolRefError as error:
            self.findings.append(Finding("bad-tool-ref", str(error), where, "see docs/reference/tool-refs.md"))
            return ()
        if ref.kind == "agent":
            return self.own.agent(ref.name, entry, where)
        if ref.kind == "workflow":
            return self.own.workflow(ref.name, entry, where)
        if ref.kind == "mcp":
            return served_tool(str(ref.server), ref.name, entry, where, self)
        if ref.kind == "custom":
            return self._custom(ref, entry, where)
        return self._from_catalog(ref, entry, where)

    def call_tool(self, ref: str, pointer: str, key: str) -> PlannedTool | None:
        """Resolve the tool of a tool-call step, which must be one, and one that policy lets be called at all."""
        where = self.document.where(pointer)
        if ref in SECTION_WORDS:
            message = f"'{ref}' is a section of `tools`, not a tool"
            self.findings.append(Finding("unknown-tool", message, where, "name one tool"))
            return None
        found = self.resolve(ToolEntry(tool=ref), pointer)
        if len(found) == 1 and found[0].server is not None and found[0].member is None:
            message = f"'{ref}' is an MCP server, which holds several tools; a step calls one"
            fix = f"name one: mcp:{found[0].server.id}/TOOL"
            self.findings.append(Finding("bad-tool-ref", message, where, fix))
            return None
        if len(found) > 1:
            names = ", ".join(tool.name for tool in found)
            message = f"'{ref}' holds several tools ({names}); a step calls one"
            self.findings.append(Finding("bad-tool-ref", message, where, f"name one: {ref}.{found[0].name}"))
        if len(found) != 1:
            return None
        if found[0].decision.effect == "deny" and not is_denied_by_policy(found[0]):
            message = f"{key} calls '{found[0].name}', which is denied: {found[0].decision.rule}"
            self.findings.append(Finding("tool-denied", message, where, "change the rule, or leave the step out"))
        return found[0]

    def _section(self, word: str) -> tuple[PlannedTool, ...]:
        """Return all tools of a section of `tools`."""
        executors = tuple(filter(None, self.executors.values()))
        if word == "http_executors":
            return executors
        if word == "mcp":
            return servers_of(self.servers)
        if word != "python":
            return ()
        others = (*executors, *servers_of(self.servers))
        return tuple(
            tool for tool in self.workflow_tools
            if tool not in others and (tool.record is None or tool.record.kind not in ("composite", "skill"))
        )  # fmt: skip

    def _executor(self, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        """Return an executor under another name; one that cannot be used has its finding already."""
        planned = self.executors[entry.tool]
        if entry.config:
            message = f"'{entry.tool}' is configured in tools.http_executors, so `config` has no effect"
            self.findings.append(Finding("tool-config", message, where, "write it there"))
        return () if planned is None else (self.settle(replace(planned, name=entry.as_ or planned.name), where),)

    def _all_given(self) -> tuple[PlannedTool, ...]:
        """Return the tools that the program gives as objects; they come before installed ones of their names."""
        for record in self.given:
            if (hidden := self.catalog.get(record.name)) is not None:
                message = f"the object '{record.name}' of this program hides the tool of {hidden.distribution}"
                fix = f"write native:{record.name} for the installed one"
                self.findings.append(Finding("shadowed-tool", message, self.document.where(""), fix, "warning"))
        return tuple(
            self._planned(record.name, ToolEntry(tool=record.name), record, self.document.where(""))
            for record in self.given
        )

    def _given(self, record: ToolRecord, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        if entry.config:
            message = f"'{record.name}' is an object of this program, so `config` has no effect"
            self.findings.append(Finding("tool-config", message, where, "make the object with its settings"))
        return (self._planned(entry.as_ or record.name, entry, record, where),)

    def _check_shadow(self, name: str, own: Sequence[PlannedTool], where: Where) -> None:
        """Say where a name that the workflow gave by `as:` hides an installed tool of that name."""
        hidden = self.catalog.get(name)
        if hidden is None or any(
            tool.own is None and (tool.record is None or tool.record.name == name) for tool in own
        ):
            return
        message = f"'{name}' means {own[0].ref} here and hides the tool '{name}' of {hidden.distribution}"
        fix = f"write native:{name} for the installed one, or choose another `as:`"
        self.findings.append(Finding("shadowed-tool", message, where, fix, "warning"))

    def _custom(self, ref: ToolRef, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        name = entry.as_ or (ref.attribute or str(ref.module)).rpartition(".")[2]
        planned = self._planned(name, entry, None, where)
        if is_denied_by_policy(planned) or is_granted(planned, self.rules, self.settings):
            return (planned,)
        known = [record.name for record in self.catalog.tools]
        guess = did_you_mean(str(ref.attribute or ref.module).rpartition(".")[2], known)
        fix = f"did you mean 'native:{guess}'? Otherwise {_how_to_grant(ref)}" if guess else _how_to_grant(ref)
        message = f"'{entry.tool}' is custom Python, which nobody has allowed"
        self.findings.append(Finding("custom-tool-denied", message, where, fix))
        return ()

    def _from_catalog(self, ref: ToolRef, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
        try:
            record = self.catalog.resolve(ref)
        except StrandsCliError as error:
            self.findings += [
                Finding(found.code, found.message, where, found.fix, found.severity) for found in error.findings
            ]
            return ()
        if ref.kind == "legacy":
            message = (
                f"'{entry.tool}' is the name of an older collection; '{record.name}' of {record.distribution} is used"
            )
            self.findings.append(Finding("legacy-tool", message, where, f"write native:{record.ref_name}", "warning"))
        if record.deprecated:
            instead = record.deprecated.get("replacement")
            message = f"'{record.name}' is deprecated since {record.deprecated.get('since', 'an earlier version')}"
            fix = f"use {instead}" if instead else "ask its author what replaces it"
            self.findings.append(Finding("legacy-tool", message, where, fix, "warning"))
        self.check_config(record, entry.config, where)
        if record.members:
            if entry.as_ is not None:
                message = f"'{entry.tool}' holds {len(record.members)} tools, so `as: {entry.as_}` names none of them"
                fix = f"name one: native:{record.members[0].ref_name}"
                self.findings.append(Finding("twin-tool-names", message, where, fix))
            return tuple(self._planned(member.name, entry, member, where) for member in record.members)
        return (self._planned(entry.as_ or record.name, entry, record, where),)

    def _planned(self, name: str, entry: ToolEntry, record: ToolRecord | None, where: Where) -> PlannedTool:
        return self.settle(bare_tool(name, entry.tool, record, self.catalog, entry.config), where)

    def settle(self, tool: PlannedTool, where: Where) -> PlannedTool:
        """Return a tool with the answer of policy; what denies it, and secrets it cannot have, are findings."""
        schema = tool.record.config_schema if tool.record else None
        known = [secret.name or secret.key for secret in self.spec.env.secrets]
        for name in (name for name in secrets_in(tool.config, schema) if name not in known):
            guess = did_you_mean(name, known)
            fix = f"did you mean '{guess}'?" if guess else f"name it: env: {{secrets: [{{key: {name}}}]}}"
            message = f"the config of '{tool.name}' names the secret '{name}', which `env.secrets` does not have"
            self.findings.append(Finding("unknown-secret", message, where, fix))
        planned = decided(tool, self.rules, self.hooks, self.document.file)
        if is_denied_by_policy(planned):
            self.findings.append(denial_of(planned, where))
        return planned

    def check_config(self, record: ToolRecord, config: Mapping[str, Any], where: Where) -> None:
        """Report a configuration that does not fit the tool's schema."""
        if not config or (record.config_schema is None and record.manifest is None):
            return  # without a manifest nobody knows what the tool takes
        if record.config_schema is None:
            message = f"'{record.name}' of {record.distribution} declares no settings, so `config` has no effect"
            self.findings.append(Finding("tool-config", message, where, "remove `config`"))
            return
        fix = f"see `strands tools show {record.ref_name}`"
        for problem in config_problems(record.config_schema, config):
            self.findings.append(Finding("tool-config", f"the config of '{record.name}': {problem}", where, fix))


def config_problems(schema: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a tool's settings, each with its path; a `$ref` to another document is not fetched."""
    import jsonschema  # only where a tool is configured
    import referencing

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
        errors = sorted(validator.iter_errors(dict(config)), key=lambda error: error.json_path)
    except (jsonschema.SchemaError, referencing.exceptions.Unresolvable, RecursionError) as error:
        return [f"its schema cannot be used: {getattr(error, 'message', error)}"]
    return [f"{error.json_path.removeprefix('$').lstrip('.') or 'it'}: {error.message}" for error in errors]


def plan_single_tool(
    name: str, catalog: Catalog, settings: Settings, rules: Sequence[Rule] = (), hooks: Hooks | None = None
) -> PlannedTool:
    """Resolve one reference outside any workflow.

    Raises:
        StrandsCliError: nothing usable has this name, it holds several tools, or a rule denies it.
    """
    planned = decided(find_single_tool(name, catalog), rules, hooks)
    if planned.decision.effect == "deny":
        finding = denial_of(planned, None)
        raise Denied(finding.message, findings=[finding], fix=finding.fix)
    if planned.custom is not None and not is_granted(planned, rules, settings):
        raise Denied(
            f"'{name}' is custom Python, which nobody has allowed", fix=_how_to_grant(ToolRef.parse(planned.ref))
        )
    return planned


def find_single_tool(name: str, catalog: Catalog) -> PlannedTool:
    """Return the one tool that a reference stands for, before policy is asked.

    Raises:
        StrandsCliError: nothing usable has this name, or it holds several tools.
    """
    try:
        ref = ToolRef.parse(catalog.typed(name))
    except ToolRefError as error:
        raise UsageError(str(error), fix="see the names: strands list-tools") from error
    if ref.kind == "custom":
        return bare_tool((ref.attribute or str(ref.module)).rpartition(".")[2], name, None, catalog)
    record = catalog.resolve(ref)
    if record.members:
        names = ", ".join(member.ref_name for member in record.members)
        raise InvalidInput(
            f"'{name}' holds several tools: {names}", fix=f"name one: native:{record.members[0].ref_name}"
        )
    return bare_tool(record.name, name, record, catalog)


def bare_tool(
    name: str, ref: str, record: ToolRecord | None, catalog: Catalog, config: Mapping[str, Any] | None = None
) -> PlannedTool:
    """Return a tool before policy is asked; `record` is None for custom Python."""
    member = record.name if record is not None and record.parent else None
    named = secrets_in(config, record.config_schema if record is not None else None)
    settles = {"capabilities": {"secrets": list(named)}} if named else {}
    sources = sources_of(record, catalog)
    return PlannedTool(name, ref, record, _UNDECIDED, config or {}, member, sources, settles=settles)


def decided(
    tool: PlannedTool, rules: Sequence[Rule], hooks: Hooks | None = None, workflow: str | None = None
) -> PlannedTool:
    """Return the tool with the answer of policy and of the hook plugins before any argument is known."""
    request = request_of(tool)
    if hooks is None:
        decision = decide(rules, request)
    else:
        context = HookContext(workflow, tuple(rules), request)
        decision = hooks.allow_tool(tool.record, tool.ref, context)
    return replace(tool, decision=decision, conditional=tuple(conditional_rules(rules, request)))


def is_denied_by_policy(tool: PlannedTool) -> bool:
    """Return whether somebody else than the workflow denies the tool, so that it must not even be imported."""
    by = tool.decision.by
    return tool.decision.effect == "deny" and (by is None or by.level != "workflow")


def is_granted(tool: PlannedTool, rules: Sequence[Rule], settings: Settings) -> bool:
    """Return whether custom Python may be imported: the allowlist or a rule of a policy file names it."""
    custom = tool.custom
    if custom is None or any(names_custom(pattern, custom) for pattern in settings.custom_tools):
        return True
    return grant_of(rules, request_of(tool)) is not None


def denial_of(tool: PlannedTool, where: Where | None) -> Finding:
    """Return the finding for a tool that policy denies."""
    shown = f"'{tool.ref}'" if tool.name in tool.ref else f"'{tool.name}' of '{tool.ref}'"
    message = f"{shown} ({tool.qualified}) is denied: {tool.decision.rule}"
    changed = f"have the rule changed; see: strands explain policy {tool.ref}"
    if tool.decision.plugin is not None:
        changed = f"ask whoever has switched the hook plugin {tool.decision.plugin} on"
    fix = f"leave the tool out, or {changed}"
    return Finding("tool-denied", message, where, fix)


def _no_agent(agent_id: str, _resolver: ToolResolver, _around: Surroundings) -> PlannedAgent:
    raise KeyError(agent_id)


def _how_to_grant(ref: ToolRef) -> str:
    return f"read it, then allow it: STRANDS_CUSTOM_TOOL_ALLOWLIST={ref.canonical}"


_UNDECIDED = decide((), Request(names=()))
