"""The permission check: the one coroutine that every tool call passes through."""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from strands.types.tools import AgentTool

from strands_cli.catalog.manifest import doubled
from strands_cli.engine.effects.effect import WITHOUT, Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.step_results import ERROR_CODE, failure_of
from strands_cli.engine.waiting.edited_arguments import HiddenPartError, change_lines, changes_between, with_changes
from strands_cli.errors import StrandsCliError
from strands_cli.events import ALLOWED_BY, NO_PERSON, ToolCallDecided, ToolCallFinished
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.plan_values import PlannedTool, WorkflowTool
from strands_cli.planning.planned_tool import (
    FinderTool,
    InstalledTool,
    LateTool,
    PythonTool,
    request_of,
)
from strands_cli.policy.decision import Decision, is_managed
from strands_cli.policy.resources import touched
from strands_cli.policy.rule import Request, Rule
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.canonical_json import digest_of
from strands_cli.texts.phrases import shortened
from strands_cli.tools.calls.approval import (
    AGENT,
    EditedCall,
    approved,
    cut,
    is_asked_by_model,
    note_of,
    question_about,
)
from strands_cli.tools.calls.call_arguments import filled_in, reads_only_now
from strands_cli.tools.calls.calling_contract import Contract as Contract
from strands_cli.tools.calls.calling_contract import output_bytes_of
from strands_cli.tools.calls.execution import CALLS, Attempt, connection_refusal
from strands_cli.tools.calls.loops import LOOP
from strands_cli.tools.calls.trust import counted_claims
from strands_cli.tools.calls.workflow_tool_calls import ToolSpan, tool_span
from strands_cli.tools.manifest_check import LoadedTool
from strands_cli.tools.messages.message_json import decode, encode
from strands_cli.tools.plugin_hooks import CallHooks
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem
from strands_cli.tools.tool_results import Result, capped, error_result, plain_json, redacted, with_fix_of

if TYPE_CHECKING:
    from strands_cli.tools.calls.execution import Attempt
    from strands_cli.tools.calls.workflow_tool_calls import LoadedToolParts
    from strands_cli.tools.manifest_check import LoadedTool
    from strands_cli.tools.tool_forms import RawTool


# The arguments in the row of a call, for those who look at the run later.


# As much as the journal stores beside a row without a file of its own.
MAX_BYTES = 64 * 1024
# In the detail of a row: the arguments as the model or the step wrote them, as the tool got them where that differs,
# and the mark that they are not whole.
ARGUMENTS, CALLED_WITH, CUT = "arguments", "called_with", "arguments_cut"
# In the detail of a row: who has changed the arguments, with which the tool is called then.
EDITED_BY = "edited_by"


def kept_arguments(written: Any, arguments: Any, redactor: Redactor) -> dict[str, Any]:
    """Return the arguments for the row of a call; too large ones are cut, with a mark."""
    text = json.dumps(written, ensure_ascii=False)
    # Before it is cut: half a secret would not be found.
    clean = redactor.json(written) if redactor.may_hide_in(text) else written
    stored_arguments: dict[str, Any] = {ARGUMENTS: clean}
    if len(text) > MAX_BYTES:
        stored_arguments = {ARGUMENTS: _small(clean), CUT: True}
    return stored_arguments if arguments == written else {**stored_arguments, CALLED_WITH: redactor.json(arguments)}


def _small(value: Any) -> Any:
    """Return arguments with long texts and lists cut, or the start of their JSON where they have too many names."""
    less = cut(value) if isinstance(value, (Mapping, list, str)) else value
    text = json.dumps(less, ensure_ascii=False)
    return less if len(text) <= MAX_BYTES else {"...": shortened(text, MAX_BYTES)}


# The objects of tools: where earlier calls have used a lost one, a person decides about the next call.


# In the detail of a row: the object in which the call may have left something.
OBJECT = "object"

# Which objects the calls of which runs have used in this process, by the object's id.
_USED: dict[tuple[str | None, int], weakref.ref[Any]] = {}


@dataclass(slots=True)
class ToolObjects:
    """The objects of a run's tools.

    Attributes:
        workflow: The workflow's file: a workflow as a tool has objects of its own.
    """

    workflow: str | None = None
    _whole: set[str] = field(default_factory=set)

    async def require_state(self, attempt: Attempt, *, only_reads: bool) -> None:
        """Check before a call that its object has the state from earlier calls of the run.

        Args:
            attempt: The call.
            only_reads: Whether the call leaves nothing in the object.

        Raises:
            NeedsDecision: Earlier calls used an object of an ended process, and no person has decided yet.
        """
        thing = object_of(attempt.tool.raw)
        if thing is None:
            return
        name = self._name_of(attempt.tool, thing)
        if name not in self._whole:
            run_id = attempt.scope.run_id
            lost_names = [] if _is_used(thing, run_id) else _lost(attempt, name)
            if lost_names:
                await attempt.effect.decide_without(lost_names)
            self._whole.add(name)
            _use(thing, run_id)
        if not only_reads:
            attempt.effect.keep(**{OBJECT: name})

    def _name_of(self, tool: LoadedTool, thing: Any) -> str:
        """Return the name of an object in the journal: its class, its settings, its workflow."""
        planned, kind = tool.planned, type(thing)
        parts = [planned.record.module, kind.__module__, kind.__qualname__, planned.config, self.workflow]
        return f"{kind.__qualname__}#{digest_of(parts)[:16]}"


def object_of(raw: RawTool) -> Any:
    """Return the object with which a tool may keep values from call to call, or None: a function has none."""
    if raw.is_remote or raw.made_of is None:
        return None
    bound = getattr(getattr(raw.made_of, "_tool_func", None), "__self__", None)
    if bound is not None:
        return bound
    is_own_class = isinstance(raw.made_of, AgentTool) and not type(raw.made_of).__module__.startswith("strands.")
    return raw.made_of if is_own_class else None


def _lost(attempt: Attempt, name: str) -> list[str]:
    """Return the calls that may have left something in an object, without those that a person has given up."""
    rows = list(attempt.scope.run.rows_below("", "tool"))
    given_up = {call for row in rows for call in row.detail.get(WITHOUT, ())}
    used = [row for row in rows if row.detail.get(OBJECT) == name and row.key != attempt.effect.key]
    return [call for row in used if (call := f"{row.key} ({row.attempt})") not in given_up]


def _is_used(thing: Any, run_id: str | None) -> bool:
    """Return whether this very object has served the run: a program may continue a run with its own object."""
    reference_type = _USED.get((run_id, id(thing)))
    return reference_type is not None and reference_type() is thing


def _use(thing: Any, run_id: str | None) -> None:
    key = (run_id, id(thing))
    # An object without weak references counts as new in the next session of the run.
    with contextlib.suppress(TypeError):
        _USED[key] = weakref.ref(thing, lambda _: _USED.pop(key, None))


RESULT = ("status", "content")
TOUCHES_NOTHING: Mapping[str, Any] = {"resources": {"reads": [], "writes": []}}


@dataclass(frozen=True, slots=True)
class PermissionCheck:
    """Decides, validates, bounds and records calls.

    Attributes:
        redactor: Hides secrets in results, events and the journal.
        hooks: The hook plugins; without them policy alone decides.
        locked: The parts that a lock vouches for: distributions, and MCP servers as `mcp:ID`.
        parts: The parts of the workflow's own tools.
        objects: The objects of tools, which may keep values from call to call.
        is_typed: Whether a person has typed the call by hand, which answers every question but a managed file's.
    """

    rules: Sequence[Rule]
    contract: Contract
    redactor: Redactor = HIDE_NOTHING
    hooks: Hooks | None = None
    workflow: str | None = None
    is_typed: bool = False
    locked: frozenset[str] = frozenset()
    parts: LoadedToolParts | None = None
    objects: ToolObjects = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objects", ToolObjects(self.workflow))

    @property
    def _plugins(self) -> CallHooks:
        return CallHooks(self.rules, self.hooks, self.workflow)

    async def call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any]
    ) -> Result:
        """Make one call, or say in the result why not; a reason to stop the run is left on the scope.

        Args:
            tool_use: `{toolUseId, name, input}` as the model or the step asks for it.
            state: The SDK's invocation state; empty where no agent asks.

        Returns:
            A well-formed tool result; never an exception but cancellation.
        """
        try:
            with tool_span(tool.planned, tool_use["toolUseId"]) as span:
                return await self._call(tool, tool_use, scope, state, span)
        except StrandsCliError as error:
            # The SDK would turn the exception into text for the model: leave the reason, end the agent's loop.
            scope.stop(error)
        except Exception as error:  # noqa: BLE001 - our own mistake must end the run, never become text for a model
            problem = self.redactor.text(f"{type(error).__name__}: {error}")
            scope.stop(StrandsCliError(f"the permission check failed at {tool.planned.name}: {problem}"))
        return error_result(tool_use["toolUseId"], "unavailable", "the run stops here")

    async def _call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any], span: ToolSpan
    ) -> Result:
        name = tool.planned.name
        written, arguments, problem = _arguments_of(tool, tool_use["input"])
        span.write_arguments(arguments, self.redactor)
        request = replace(request_for(tool, arguments, self.locked), workspace=self.contract.places)
        # As the model wrote them: every change of them follows from these.
        call_input = {"tool": name, "input": written}
        # The calls of a composed tool have rows of their own, so that entering it again repeats nothing.
        repeatable = request.composed or is_repeatable(request)
        effect = scope.tool_effect(tool_use["toolUseId"], name, call_input, repeatable=repeatable)
        if effect.recorded is not None:
            if request.composed or effect.recorded.detail.get(CALLS):
                scope.count_nested(effect.key)
            output = effect.recorded.output
            result: Result = {"toolUseId": tool_use["toolUseId"], **decode({name: output[name] for name in RESULT})}
            if scope.changes is not None and AGENT in output:
                scope.changes.restore(output[AGENT])
            if scope.loops is not None:
                scope.loops.ended(tool_use["toolUseId"], output, hinted=LOOP in effect.recorded.detail)
            span.replayed(effect, result)
            scope.emit(_finished(scope, effect, name, result, 0.0, replayed=True))
            return result
        await scope.turn(request if tool.absent is None else Request(request.names, claims=TOUCHES_NOTHING))
        tool_request = {**tool_use, "name": name, "input": arguments}
        refusal = connection_refusal(self.rules, request)
        attempt = Attempt(tool, tool_request, scope, effect, state, self.contract, self.redactor, refusal)
        effect.keep(**kept_arguments(written, arguments, self.redactor))
        result, seconds, request = await self._made(attempt, request, problem, span)
        scope.emit(_finished(scope, effect, name, result, seconds, replayed=False))
        await self._plugins.tell(tool, request, scope, result)
        return result

    async def _made(
        self, attempt: Attempt, request: Request, problem: str | None, span: ToolSpan
    ) -> tuple[Result, float, Request]:
        """Make a call without a row in the journal, or refuse it, and store the result.

        Returns:
            The result, the seconds that it took, and the request as a person may have changed it.
        """
        started, changes = attempt.scope.monotonic(), attempt.scope.changes
        before = changes.now() if changes is not None else None
        detail: dict[str, Any] = {"distribution": attempt.tool.planned.distribution}
        edited: EditedCall | None = None
        absent = attempt.tool.absent
        refusal = attempt.refused(*absent) if absent is not None else _check_input(attempt, problem, self.redactor)
        if refusal is None:
            decision, edited = await self._decide(attempt, request)
            detail |= {"decision": decision.effect, "rule": decision.rule}
            if decision.no_person:
                detail |= {NO_PERSON: True} | ({ALLOWED_BY: decision.allowed_by} if decision.allowed_by else {})
            span.decided(decision)
            if decision.effect != "allow":
                refusal = attempt.refused("denied", f"{attempt.name} was not called: {decision.rule}")
        if edited is not None and edited.who:
            attempt, request = edited.attempt, edited.request
            self._keep_edit(edited, span)
        if refusal is None and self.parts is not None and isinstance(attempt.tool.planned, WorkflowTool):
            await attempt.effect.start()
            result = await self.parts.call(attempt, self)
        elif refusal is None:
            await self.objects.require_state(attempt, only_reads=only_reads(request))
            result, facts = await attempt.carry_through()
            detail |= facts
        else:
            await attempt.effect.start()
            result = refusal
        # Redacted before it is cut: half a secret at the edge would not be found.
        result = capped(redacted(result, self.redactor), output_bytes_of(attempt.tool.claims))
        result = with_fix_of(result, *advice_on(attempt.tool.planned))
        if edited is not None and is_asked_by_model(attempt):
            result["content"] = [*result["content"], {"text": self.redactor.text(edited.note)}]
        detail |= span.finished(attempt.effect, result)
        if (failure := failure_of(result)) is not None:
            detail[ERROR_CODE] = failure.code
        output = encode({"status": result["status"], "content": result["content"]})
        loops = attempt.scope.loops
        if loops is not None and (due := loops.ended(str(attempt.tool_use["toolUseId"]), output)) is not None:
            hint, detail[LOOP] = due
            result = {**result, "content": [*result["content"], {"text": hint}]}
            output["content"] = [*output["content"], {"text": hint}]
        if changes is not None and (changed := changes.since(before, attempt.name)):
            output[AGENT] = changed
        await attempt.effect.finish(output, detail=detail)
        attempt.scope.count_tool_call()
        return result, attempt.scope.monotonic() - started, request

    def _keep_edit(self, edited: EditedCall, span: ToolSpan) -> None:
        """Keep in the row, before the call begins, with which arguments it is made and who has written them."""
        attempt = edited.attempt
        span.write_arguments(attempt.arguments, self.redactor)
        called_with = kept_arguments(attempt.arguments, attempt.arguments, self.redactor)[ARGUMENTS]
        facts = {CALLED_WITH: called_with, EDITED_BY: edited.who}
        attempt.effect.replace_facts(repeatable=is_repeatable(edited.request), **facts)

    async def _edited(self, attempt: Attempt, shown: Mapping[str, Any], answer: Answer) -> EditedCall | str:
        """Check a call with the changes of a person as one of a model is; return it, or why it cannot be made."""
        try:
            changed = with_changes(attempt.arguments, shown, answer.arguments)
        except HiddenPartError as error:
            return f"`{error}` has a hidden part: write the whole value, or leave it as it is"
        _, arguments, problem = _arguments_of(attempt.tool, changed)
        request = replace(request_for(attempt.tool, arguments, self.locked), workspace=self.contract.places)
        refusal = connection_refusal(self.rules, request)
        edited = replace(attempt, tool_use={**attempt.tool_use, "input": arguments}, refusal=refusal)
        if (refused := _check_input(edited, problem, self.redactor)) is not None:
            return str(refused["content"][0]["text"])
        decision = await self._plugins.decide(attempt.tool, request, attempt.scope)
        if decision.effect == "deny" or (decision.effect == "ask" and is_managed(decision) and not answer.is_typed):
            return self.redactor.text(decision.rule)
        await attempt.scope.turn_within(touched(request))
        lines = change_lines(changes_between(shown, self.redactor.json(arguments)))
        note = f"A person changed this call before it was made: {'; '.join(lines)}."
        return EditedCall(edited, request, f"{note}\n{note_of(answer)}".rstrip(), answer.by_whom)

    async def _decide(self, attempt: Attempt, request: Request) -> tuple[Decision, EditedCall | None]:
        """Ask policy and the hook plugins, and where they ask, ask a person; return allow or deny.

        Returns:
            The decision, and the call as a person has changed it.
        """
        edited: EditedCall | None = None
        planned, scope = attempt.tool.planned, attempt.scope
        if isinstance(planned, LateTool) and self.locked:
            decision = Decision("deny", "the lock does not have this tool, which was registered during the run")
        elif isinstance(planned, FinderTool):
            decision = Decision("allow", "it loads definitions of the agent's own tools")
        else:
            decision = await self._plugins.decide(attempt.tool, request, scope)
        # The words of a plugin, and arguments in a rule, may hold secrets.
        decision = replace(decision, rule=self.redactor.text(decision.rule))
        if decision.effect == "ask" and self.is_typed and not is_managed(decision):
            decision = Decision("allow", f"typed by hand ({decision.rule})")
        key = attempt.effect.key
        # A person's answer about this very call stays so, whatever is allowed meanwhile.
        if decision.effect == "ask" or (
            await scope.take_answer(question_about(key), key) and decision.effect == "allow"
        ):
            decision, edited = await approved(attempt, request, decision, partial(self._edited, attempt))
            decision = replace(decision, rule=self.redactor.text(decision.rule))
        scope.emit(
            ToolCallDecided(
                scope.now(), attempt.effect.key, planned.name, decision.effect, decision.rule, planned.distribution
            )
        )
        return decision, edited


def _arguments_of(tool: LoadedTool, call_input: Any) -> tuple[Any, Any, str | None]:
    """Return the arguments as written and as the tool gets them; for broken JSON the problem."""
    try:
        written, arguments = filled_in(tool.schema, tool.claims, plain_json(call_input))
    except ValueError as error:
        problem = f"the arguments are not JSON: {shortened(str(error), 200)}"
        return problem, problem, problem
    return written, arguments, doubled(tool.claims.get("earlier"), tool.schema, arguments)


def _check_input(attempt: Attempt, problem: str | None, redactor: Redactor) -> Result | None:
    """Return the error result for arguments that the tool cannot be called with, or None."""
    arguments = attempt.arguments
    if problem is None and not isinstance(arguments, Mapping):
        problem = f"the arguments are not a JSON object: {shortened(redactor.text(str(arguments)), 200)}"
    try:
        problem = problem or first_problem(attempt.tool.schema, arguments, redactor)
    except SchemaFaultError as fault:
        return attempt.refused("unavailable", f"the tool's input schema cannot be used: {fault}")
    return attempt.refused("invalid_input", problem) if problem is not None else None


def _finished(
    scope: StepScope, effect: Effect, name: str, result: Result, seconds: float, *, replayed: bool
) -> ToolCallFinished:
    failure = failure_of(result)
    truncated = result["content"][-1].get("json", {}) if result["content"] else {}
    return ToolCallFinished(
        scope.now(),
        effect.key,
        name,
        result["status"],
        seconds,
        failure.code if failure else None,
        isinstance(truncated, Mapping) and truncated.get("truncated") is True,
        replayed,
        failure.reason if failure else None,
        failure.fix if failure else None,
    )


def advice_on(tool: PlannedTool) -> tuple[str | None, Mapping[str, Any]]:
    """Return how the workflow names a tool whose advice is shown, and its config; no name for that of a server."""
    if isinstance(tool, (InstalledTool, PythonTool)):
        return tool.ref, tool.config
    return None, {}


def request_for(tool: LoadedTool, arguments: Any, locked: frozenset[str] = frozenset()) -> Request:
    """Return a call as policy sees it; `read_only_when` is matched against these arguments."""
    claims_in_force = counted_claims(tool, locked)
    return request_of(
        tool.planned,
        annotations=claims_in_force.annotations,
        claims=claims_in_force.claims,
        arguments=arguments if isinstance(arguments, Mapping) else {},
        read_only_now=reads_only_now(claims_in_force.claims.get("read_only_when"), arguments),
    )


def is_repeatable(request: Request) -> bool:
    """Return whether the call may be made again when a process died inside it."""
    return only_reads(request) or request.annotations.get("idempotentHint") is True


def only_reads(request: Request) -> bool:
    """Return whether the call changes nothing, by the counted claims of its tool."""
    hints = request.annotations
    return request.read_only_now or (hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True)
