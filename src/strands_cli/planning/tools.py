"""Tools of a plan: every name a workflow uses, resolved against its own tools and the catalog, with policy's answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from strands_cli.catalog import Catalog, ToolRecord
from strands_cli.config import Settings
from strands_cli.errors import Denied, Finding, InvalidInput, StrandsCliError, UsageError, Where, did_you_mean
from strands_cli.hooks.values import HookContext
from strands_cli.planning.plan import PlannedTool
from strands_cli.planning.requests import request_of, sources_of
from strands_cli.policy import Request, Rule, conditional_rules, decide, grant_of, names_custom
from strands_cli.spec.document import Document
from strands_cli.spec.model import ToolEntry, WorkflowSpec
from strands_cli.toolref import ToolRef, ToolRefError

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

    def __post_init__(self) -> None:
        self.workflow_tools = given = self._all_given()
        listed = self.resolve_all(self.spec.tools.python, "/tools/python")
        known = [tool.identity for tool in given]
        self.workflow_tools = (*given, *(tool for tool in listed if tool.identity not in known))

    def agent_tools(self, entries: Sequence[ToolEntry] | None, pointer: str) -> tuple[PlannedTool, ...]:
        """Return an agent's tools: all of the workflow's without a list, else those listed; names must be unique."""
        if entries is None:
            return self.distinct(self.workflow_tools, "/tools/python")
        return self.distinct(self.resolve_all(entries, pointer), pointer)

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
            return self.workflow_tools if entry.tool == "python" else ()
        where = self.document.where(pointer)
        own = [tool for tool in self.workflow_tools if entry.tool in (tool.name, tool.ref)]
        if own and not entry.config and entry.as_ is None:
            self._check_shadow(entry.tool, own, where)
            return tuple(own)
        if given := next((record for record in self.given if record.name == entry.tool), None):
            return self._given(given, entry, where)
        if entry.tool in self._own_of_a_later_version():
            self._not_yet(f"the workflow's own tool '{entry.tool}'", where)
            return ()
        try:
            ref = ToolRef.parse(entry.tool)
        except ToolRefError as error:
            self.findings.append(Finding("bad-tool-ref", str(error), where, "see docs/reference/tool-refs.md"))
            return ()
        if ref.kind in ("mcp", "agent", "workflow"):
            self._not_yet(f"a tool of the form '{ref.kind}:'", where)
            return ()
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

    def _own_of_a_later_version(self) -> set[str]:
        """Return the names of the workflow's own tools that this version cannot call yet."""
        tools = self.spec.tools
        own = {executor.id for executor in tools.http_executors} | {composite.id for composite in tools.composite}
        return own | {server.id for server in tools.mcp} | ({"Skill"} if self.spec.skills else set())

    def _not_yet(self, what: str, where: Where) -> None:
        message = f"{what} cannot be called by this version yet"
        self.findings.append(Finding("not-yet", message, where, "leave it out for now"))

    def _check_shadow(self, name: str, own: Sequence[PlannedTool], where: Where) -> None:
        """Say where a name that the workflow gave by `as:` hides an installed tool of that name."""
        hidden = self.catalog.get(name)
        if hidden is None or any(tool.record is None or tool.record.name == name for tool in own):
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
        self._check_config(record, entry.config, where)
        if record.members:
            if entry.as_ is not None:
                message = f"'{entry.tool}' holds {len(record.members)} tools, so `as: {entry.as_}` names none of them"
                fix = f"name one: native:{record.members[0].ref_name}"
                self.findings.append(Finding("twin-tool-names", message, where, fix))
            return tuple(self._planned(member.name, entry, member, where) for member in record.members)
        return (self._planned(entry.as_ or record.name, entry, record, where),)

    def _planned(self, name: str, entry: ToolEntry, record: ToolRecord | None, where: Where) -> PlannedTool:
        workflow = self.document.file
        planned = decided(
            bare_tool(name, entry.tool, record, self.catalog, entry.config), self.rules, self.hooks, workflow
        )
        if is_denied_by_policy(planned):
            self.findings.append(denial_of(planned, where))
        return planned

    def _check_config(self, record: ToolRecord, config: Mapping[str, Any], where: Where) -> None:
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
    return PlannedTool(name, ref, record, _UNDECIDED, config or {}, member, sources_of(record, catalog))


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


def _how_to_grant(ref: ToolRef) -> str:
    return f"read it, then allow it: STRANDS_CUSTOM_TOOL_ALLOWLIST={ref.canonical}"


_UNDECIDED = decide((), Request(names=()))
