"""`PermissionPolicy`: our rules before the tool calls of any Strands agent, as an intervention or as a hook."""

from __future__ import annotations

import copy
import inspect
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from weakref import WeakSet

from strands.hooks import BeforeToolCallEvent, HookOrder, HookRegistry
from strands.interrupt import InterruptException
from strands.interventions import Deny, InterventionHandler, Proceed
from strands.tools.structured_output.structured_output_tool import StructuredOutputTool
from strands.types.tools import AgentTool

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.catalog.manifest import doubled, in_present_words
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import UsageError
from strands_cli.metadata import ToolMetadata, metadata_of
from strands_cli.planning.planned_tool import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.policy.decision import Decision, PermissionQuestion, decide
from strands_cli.policy.rule import Effect, PatternError, Request, Rule, make_rule
from strands_cli.policy.tool_claims import NO_CLAIMS, Claims, tightened
from strands_cli.texts.canonical_json import digest_of
from strands_cli.tools.calls.call_arguments import reads_only_now
from strands_cli.tools.schema.schemas import prepared
from strands_cli.tools.tool_forms import RawTool, read_tools

# A tool of any Strands agent as policy sees it: an installed one, one of an MCP server, or the program's own.


def request_about(tool: AgentTool, raw: RawTool, arguments: Mapping[str, Any], catalog: Catalog) -> Request:
    """Return one call of an agent's tool as policy sees it.

    A tool whose code lies in an installed distribution that declares it is that tool, with all of its names. One of an
    MCP server is called `mcp:NAME`; the bare name, which the server chose, restricts and never loosens.

    Args:
        raw: The same, read.
        arguments: Those of the call, with defaults filled in.
    """
    function = getattr(tool, "_tool_func", None)
    claims = _claims_of(raw, metadata_of(function) if function is not None else None)
    module = str(getattr(function or tool, "__module__", None) or type(tool).__module__)
    if raw.is_remote:
        tightened_claims = tightened(NO_CLAIMS, claims)
        original = getattr(getattr(tool, "mcp_tool", None), "name", raw.name)
        request = Request((f"mcp:{raw.name}",), aliases=tuple(dict.fromkeys((raw.name, str(original)))))
    elif (record := _record_of(raw.name, module, catalog)) is not None:
        tightened_claims = tightened(Claims(record.annotations, record.strands_cli), claims)
        request = request_of(replace(installed_tool(record, catalog, f"native:{record.ref_name}"), name=raw.name))
    else:
        tightened_claims = claims
        places = (f"{module}:{raw.name}", f"{module}.{raw.name}")
        request = Request((raw.name,), sources=frozenset({"object"}), aliases=places)
    now = reads_only_now(tightened_claims.claims.get("read_only_when"), arguments)
    return replace(
        request,
        annotations=tightened_claims.annotations,
        claims=tightened_claims.claims,
        arguments=arguments,
        read_only_now=now,
    )


def _claims_of(raw: RawTool, below: ToolMetadata | None) -> Claims:
    """Return a tool's claims, with those of `@tool_metadata` on the function of a module tool."""
    claims = Claims(raw.spec.get("annotations") or {}, raw.spec.get("strands_cli") or {})
    if below is None:
        return claims
    return Claims({**below.annotations, **claims.annotations}, {**below.strands_cli, **claims.claims})


def _record_of(name: str, module: str, catalog: Catalog) -> ToolRecord | None:
    """Return the installed tool that a loaded one is: of its name, from its module, in its distribution's folder."""
    records = [record for record in _single(catalog) if record.name == name and _is_of(module, record)]
    return records[0] if len(records) == 1 else None


def _single(catalog: Catalog) -> Iterator[ToolRecord]:
    for record in catalog.tools:
        yield from record.members or (record,)


def _is_of(module: str, record: ToolRecord) -> bool:
    if record.location is None or module.partition(".")[0] != record.module.partition(".")[0]:
        return False
    # A file of the same name in another place is not the installed one.
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and Path(file).resolve().is_relative_to(Path(record.location).resolve())


OnAsk = Callable[[PermissionQuestion], object | Awaitable[object]]
# After the interventions and hooks that may still change a call, before the SDK's own last ones.
_AFTER_OTHERS = (HookOrder.INTERVENTION_INPUT + HookOrder.SDK_LAST) / 2

_log = logging.getLogger(__name__)


class PermissionPolicy(InterventionHandler):
    """Decides on the tool calls of an agent by rules and by the claims of its tools.

    `Agent(interventions=[policy])` and `Agent(hooks=[policy])` mean the same; an agent with both decides once. Deny is
    stronger than ask, and ask than allow. Without a rule a tool that only reads is allowed, and every other asks. One
    policy may serve several agents.

    Args:
        deny: Patterns of refused calls: a name, a glob, or `name(argument=glob)`.
        ask: Patterns of calls that `on_ask` is asked about.
        allow: Patterns of calls that are not asked about, unless a pattern of `ask` fits.
        on_ask: Is given each question, and allows that call by returning (or awaiting) True or "yes"; anything else,
            and an exception, denies. Without it every question is a no.
        catalog: The installed tools, by default looked for once, at the first call.

    Raises:
        UsageError: a pattern is none.
    """

    def __init__(
        self,
        *,
        deny: str | Iterable[str] = (),
        ask: str | Iterable[str] = (),
        allow: str | Iterable[str] = (),
        on_ask: OnAsk | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        self._rules: tuple[Rule, ...] = (*_rules("deny", deny), *_rules("ask", ask), *_rules("allow", allow))
        self._on_ask = on_ask
        self._catalog = catalog
        self._hooked: WeakSet[HookRegistry] = WeakSet()

    @classmethod
    def from_file(cls, *paths: str | Path, on_ask: OnAsk | None = None, **more: Any) -> PermissionPolicy:
        """Return a policy of the rules of policy files; those of all of them hold.

        Args:
            paths: The files. Those of this machine and its user are not read unless they are named.
            on_ask: Who answers.
            more: Further patterns, as the class takes them.

        Raises:
            Denied: a file cannot be read or is wrong.
            UsageError: a file requires a lock, which only a run compares with the installed tools.
        """
        from strands_cli.user_files.policy_file import read_policy

        policy = cls(on_ask=on_ask, **more)
        for path in paths:
            read = read_policy(Path(path), "project")
            if read.locked is not None:
                fix = "take `locked` out of a file that is meant for it"
                raise UsageError(f"{read.locked.origin} asks for a lock, which PermissionPolicy cannot hold", fix=fix)
            policy._rules += read.rules
        return policy

    @property
    def name(self) -> str:
        """Its name in the SDK; an agent takes one of it."""
        return "strands-cli-permissions"

    @property
    def on_error(self) -> Literal["deny"]:
        """A check that fails denies."""
        return "deny"

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules in force."""
        return self._rules

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Check the calls of the agent whose registry this is."""
        if registry not in self._hooked:
            self._hooked.add(registry)
            registry.add_callback(BeforeToolCallEvent, self._before_call, order=_AFTER_OTHERS)

    async def before_tool_call(self, event: BeforeToolCallEvent, **kwargs: Any) -> Proceed | Deny:
        """Answer as an intervention; where the policy is a hook of the agent as well, that one decides, later."""
        if event.agent.hooks in self._hooked:
            return Proceed(reason="decided by the hook")
        refusal = await self._refusal(event)
        return Proceed() if refusal is None else Deny(reason=refusal)

    async def _before_call(self, event: BeforeToolCallEvent) -> None:
        if event.cancel_tool:
            return
        if (refusal := await self._refusal(event)) is not None:
            event.cancel_tool = f"DENIED: {refusal}"

    async def _refusal(self, event: BeforeToolCallEvent) -> str | None:
        """Return why a call is not made, or None; a check that fails is a reason."""
        try:
            decision = await self._decide(event)
        except InterruptException:
            raise
        except Exception as error:  # noqa: BLE001 - the call is not made if its check fails in any way
            _log.exception("the permission check failed")
            return f"the permission check failed ({type(error).__name__})"
        return None if decision.effect == "allow" else f"{event.tool_use['name']} was not called: {decision.rule}"

    async def _decide(self, event: BeforeToolCallEvent) -> Decision:
        tool = event.selected_tool
        # An unknown tool is the SDK's to refuse; the one for structured answers does nothing but check them.
        if tool is None or isinstance(tool, StructuredOutputTool):
            return Decision("allow", "no tool")
        (raw,) = await read_tools(tool, {}, [])
        model_arguments = in_present_words(raw.claims.get("earlier"), raw.schema, event.tool_use["input"])
        arguments = prepared(raw.schema, model_arguments)
        if not isinstance(arguments, Mapping):
            return Decision("deny", "the arguments are not a JSON object")
        if problem := doubled(raw.claims.get("earlier"), raw.schema, arguments):
            return Decision("deny", problem)
        if self._catalog is None:
            self._catalog = discover_catalog()
        decision = decide(self._rules, request_about(tool, raw, arguments, self._catalog))
        return await self._ask(event, tool, arguments, decision) if decision.effect == "ask" else decision

    async def _ask(
        self, event: BeforeToolCallEvent, tool: AgentTool, arguments: Mapping[str, Any], decision: Decision
    ) -> Decision:
        """Return the answer of the person who is asked; a yes holds for this tool with the same arguments."""
        name = event.tool_use["name"]
        if self._on_ask is None:
            return Decision("deny", f"{decision.rule}, and no person can be asked")
        # Compared with the later input of the tool, the input as the model gave it.
        before = digest_of(event.tool_use["input"])
        agent = str(getattr(event.agent, "name", None) or "an agent")
        question = PermissionQuestion(name, copy.deepcopy(arguments), decision.rule, agent, digest_of(arguments))
        answer = self._on_ask(question)
        if inspect.isawaitable(answer):
            answer = await answer
        if event.selected_tool is not tool or digest_of(event.tool_use["input"]) != before:
            return Decision("deny", "the call was changed while somebody was asked about it")
        if answer is True or answer == "yes":
            return Decision("allow", "allowed when asked")
        return Decision("deny", f"{decision.rule}, and the answer was no")


def _rules(effect: Effect, patterns: str | Iterable[str]) -> list[Rule]:
    try:
        return [
            make_rule(effect, pattern, "project", f"{effect}={pattern!r} of the PermissionPolicy")
            for pattern in ([patterns] if isinstance(patterns, str) else patterns)
        ]
    except PatternError as error:
        fix = "write a tool's name, a glob, or name(argument=glob)"
        raise UsageError(f"a pattern of {effect} {error}", fix=fix) from error
