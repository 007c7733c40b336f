"""The explanation of policy for a tool: the decisions, every rule that names it, and changes with another answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from strands_cli.catalog.catalog import Catalog
from strands_cli.errors import StrandsCliError, UsageError
from strands_cli.hooks.hook_values import HookContext, ToolCall
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.environment import mounts_of
from strands_cli.planning.machine.installation import Installation
from strands_cli.planning.plan_values import Plan, PlannedTool, with_parts
from strands_cli.planning.planned_tool import InstalledTool, PythonTool, request_of
from strands_cli.planning.resolve.single_tool import find_single_tool, installed_tool, is_granted, require_family
from strands_cli.policy.decision import Decision, conditional_rules, decide, grant_of, is_managed, speaking_rules
from strands_cli.policy.file_places import Workspace
from strands_cli.policy.rule import Request, Rule
from strands_cli.toolref import FAMILY, ToolRef, ToolRefError

# The final arguments of a call, and whether it then only reads; only who validates arguments can tell.
AsCalled = Callable[[PlannedTool, Mapping[str, Any]], tuple[Mapping[str, Any], bool]]
INTERNAL_KINDS = ("mcp", "agent", "workflow")


class AskedCall(NamedTuple):
    """A call to ask about: its arguments, the function that fills in their defaults, and the start of its paths."""

    arguments: Mapping[str, Any] | None
    as_called: AsCalled | None
    workspace: Workspace


@dataclass(frozen=True, slots=True)
class Explanation:
    """Policy on one tool.

    `load` is whether it may be imported, `call` whether a call may be made; `speaking` are the rules that hold, in the
    order in which they are weighed, `conditional` those that depend on arguments not known yet. `changes` are sentences
    about changes with another answer; `note` tells that the tool is not installed.
    """

    name: str
    request: Request
    load: Decision
    call: Decision
    speaking: tuple[Rule, ...]
    conditional: tuple[Rule, ...]
    changes: tuple[str, ...]
    note: str | None = None


def explain_policy(
    ref: str,
    machine: Installation,
    plan: Plan | None = None,
    arguments: Mapping[str, Any] | None = None,
    as_called: AsCalled | None = None,
) -> list[Explanation]:
    """Return the rules on a reference; on each of its tools, where it holds several.

    Args:
        ref: The tool; of a plan also a name that its workflow gives.
        machine: The installed tools, the settings, the policy, and the hook plugins, which are asked about tools.
        plan: A plan, whose rules, tools and mounts count too.
        arguments: Those of a call to ask about.
        as_called: Fills in defaults, and tells whether a tool only reads by its own word; without it neither is known.

    Raises:
        UsageError: the text is not a reference.
    """
    rules = plan.rules if plan is not None else machine.policy.rules
    planned = with_parts(plan.called()) if plan is not None else ()
    begins = Workspace("", **mounts_of(plan)) if plan is not None else Workspace()
    call = AskedCall(arguments, as_called, begins)
    of_plan = {tool.identity: tool for tool in planned if ref in tool.all_names()}
    if tools := list(of_plan.values()):
        return [_of_tool(tool, rules, machine, call) for tool in tools]
    try:
        parsed = ToolRef.parse(ref)
    except ToolRefError as error:
        raise UsageError(str(error), fix="see the forms: strands explain tool-refs") from error
    try:
        return [_of_tool(tool, rules, machine, call) for tool in _installed(parsed, machine.catalog)]
    except StrandsCliError as error:  # not installed, or not usable here: rules may name it nevertheless
        note = f"{error.message}; {error.fix}" if error.fix else error.message
        return [_of_unknown(parsed, rules, note, arguments)]


def _installed(parsed: ToolRef, catalog: Catalog) -> list[InstalledTool | PythonTool]:
    ref = str(parsed)
    if parsed.member == FAMILY:
        return [installed_tool(record, catalog, ref) for record in require_family(parsed, catalog)]
    record = catalog.resolve(parsed) if parsed.kind != "custom" else None
    if record is not None and record.members:
        return [installed_tool(member, catalog, ref) for member in record.members]
    return [find_single_tool(ref, catalog)]


def _of_tool(tool: PlannedTool, rules: Sequence[Rule], machine: Installation, call: AskedCall) -> Explanation:
    arguments, reads_only = call.arguments, False
    if arguments is not None and call.as_called is not None:
        arguments, reads_only = call.as_called(tool, arguments)
    request = request_of(tool, arguments=arguments, read_only_now=reads_only)
    request = replace(request, workspace=call.workspace)
    at_load = replace(request, arguments=None)
    if machine.hooks is not None:
        answer = machine.hooks.allow_tool(tool.declared, tool.ref, HookContext(rules=tuple(rules), request=at_load))
        tool = replace(tool, decision=answer)
    load = _load_decision(at_load, rules, is_allowed=is_granted(tool, rules, machine.settings))
    if tool.decision.grant is not None and load.effect == "allow":
        load = Decision("allow", tool.decision.grant)
    explained = _explained(tool.reference if isinstance(tool, PythonTool) else tool.name, request, load, rules)
    return explained if machine.hooks is None else _with_plugins(explained, tool, rules, machine.hooks)


def _with_plugins(explained: Explanation, tool: PlannedTool, rules: Sequence[Rule], hooks: Hooks) -> Explanation:
    """Return an explanation with the answers of hook plugins, where the rules alone do not decide."""
    request, load = explained.request, tool.decision
    if load.plugin is not None and load.effect == "deny" and explained.load.effect != "deny":
        return replace(explained, load=load, call=load, changes=(_plugin_sentence(load),))
    call = load
    if request.arguments is not None:
        tool_call = ToolCall(tool.name, request.arguments)
        call = hooks.decide_call(tool.declared, tool_call, HookContext(rules=tuple(rules), request=request))
    if call.plugin is not None and explained.call.effect != "deny" and explained.load.effect != "deny":
        return replace(explained, call=call, changes=(_plugin_sentence(call),))
    return explained


def _plugin_sentence(decision: Decision) -> str:
    if decision.effect == "allow":
        return f"the hook plugin {decision.plugin} allows it; any rule that asks or denies is stronger"
    return f"no rule and no option overrules the hook plugin {decision.plugin}; it is switched on by a policy file"


def _of_unknown(ref: ToolRef, rules: Sequence[Rule], note: str, arguments: Mapping[str, Any] | None) -> Explanation:
    if ref.kind == "mcp":
        return _of_server(ref, rules, note, arguments)
    name = f"{ref.name}.{ref.member}" if ref.member else ref.name
    name = f"native:{name}" if ref.member == FAMILY else name
    names = [name] if ref.kind in INTERNAL_KINDS or ref.member == FAMILY else [name, f"native:{name}"]
    if ref.distribution:
        names += [f"{ref.distribution}/{name}", f"native:{ref.distribution}/{name}"]
    request = Request(tuple(names), distribution=ref.distribution, arguments=arguments, aliases=(str(ref),))
    return replace(_explained(name, request, _load_decision(request, rules, is_allowed=True), rules), note=note)


def _of_server(ref: ToolRef, rules: Sequence[Rule], note: str, arguments: Mapping[str, Any] | None) -> Explanation:
    """Return the rules on a tool of an MCP server, as far as it is known by its name."""
    names = tuple(dict.fromkeys((str(ref), f"mcp:{ref.server}")))
    aliases = tuple(filter(None, (ref.name, ref.server)))
    request = Request(names, sources=frozenset({"mcp"}), arguments=arguments, aliases=aliases)
    load = _load_decision(request, rules, is_allowed=True)
    return replace(_explained(str(ref), request, load, rules), note=note)


def _load_decision(request: Request, rules: Sequence[Rule], *, is_allowed: bool) -> Decision:
    # A tool that the workflow itself denies is refused call by call; the others are asked before the import.
    decision = decide([rule for rule in rules if rule.level != "workflow"], request)
    if decision.effect == "deny":
        return decision
    if not is_allowed:
        return Decision("deny", "custom Python that is not allowed")
    grant = grant_of(rules, request)
    if grant is not None:
        return Decision("allow", grant.words, grant)
    return Decision("allow", "STRANDS_CUSTOM_TOOL_ALLOWLIST" if request.custom else "no rule denies it")


def _explained(name: str, request: Request, load: Decision, rules: Sequence[Rule]) -> Explanation:
    call = load if load.effect == "deny" else decide(rules, request)
    return Explanation(
        name=name,
        request=request,
        load=load,
        call=call,
        speaking=tuple(speaking_rules(rules, request)),
        conditional=tuple(conditional_rules(rules, request)),
        changes=tuple(_changes(name, request, load, call)),
    )


def _name_for_files(request: Request) -> str | None:
    """Return the name by which a file allows a tool: with its distribution, and none that a workflow chose."""
    return next((name for name in request.names if "/" in name), next(iter(request.names), None))


def _name_for_options(name: str, request: Request) -> str:
    """Return the name by which `--allow` answers: a name that a workflow or the file of a project chose does not."""
    return name if name in (*request.names, *request.typed_names) else _name_for_files(request) or name


def _changes(name: str, request: Request, load: Decision, call: Decision) -> list[str]:
    by, own = call.by, _name_for_options(name, request)
    if load.effect == "deny" and load.by is None:
        rule = f"a rule of a policy file, `allow: {request.custom}`"
        named = f"{request.custom}@{request.custom_folder}" if request.custom_folder else request.custom
        return [f"STRANDS_CUSTOM_TOOL_ALLOWLIST={named}, or {rule}, would let it be imported"]
    if call.effect == "deny" and by is not None:
        return [f"nothing overrules a deny: it holds until {by.origin} is changed"]
    if call.effect == "ask" and is_managed(call):
        return ["only a person who is asked at a terminal can say yes; no option, file or program can"]
    if call.effect == "ask" and by is not None:
        return [f"--allow {own} or --yes answers it for one run; {by.origin} asks again in the next"]
    if call.effect == "ask":
        rule = f"`allow: {request.custom or _name_for_files(request) or name}` in a policy file for every run"
        return [f"--allow {own} or --yes answers it for one run, {rule}"]
    return ["a rule that asks or denies, at any level"]
