"""The permission check: the one coroutine that every tool call passes through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.definitions.earlier_words import doubled
from strands_cli.engine.denials import ERROR_CODE
from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.step_results import failure_of
from strands_cli.errors import StrandsCliError
from strands_cli.events import ALLOWED_BY, NO_PERSON, ToolCallDecided, ToolCallFinished
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.plan.plan_values import PlannedTool, WorkflowTool
from strands_cli.planning.planned_tools.planned_tool import InstalledTool, LateTool, PythonTool
from strands_cli.planning.planned_tools.policy_requests import request_of
from strands_cli.policy.decision import Decision, is_managed
from strands_cli.policy.rules.rule import Rule
from strands_cli.policy.rules.tool_request import Request
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.phrases import shortened
from strands_cli.tools.calls.agent_changes import AGENT
from strands_cli.tools.calls.approval import approved, question_about
from strands_cli.tools.calls.call_arguments import filled_in, reads_only_now
from strands_cli.tools.calls.calling_contract import Contract as Contract
from strands_cli.tools.calls.calling_contract import output_bytes_of
from strands_cli.tools.calls.execution import CALLS, Attempt
from strands_cli.tools.calls.kept_arguments import kept_arguments
from strands_cli.tools.calls.redirects import connection_refusal
from strands_cli.tools.calls.tool_objects import ToolObjects
from strands_cli.tools.calls.tool_spans import ToolSpan, tool_span
from strands_cli.tools.calls.trust import counted_claims
from strands_cli.tools.forms.manifest_check import LoadedTool
from strands_cli.tools.messages.message_json import decode, encode
from strands_cli.tools.plugin_hooks import CallHooks
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem
from strands_cli.tools.tool_results import Result, capped, error_result, plain_json, redacted, with_fix_of

if TYPE_CHECKING:
    from strands_cli.tools.calls.workflow_tool_calls import Parts

RESULT = ("status", "content")
TOUCHES_NOTHING: Mapping[str, Any] = {"resources": {"reads": [], "writes": []}}


@dataclass(frozen=True, slots=True)
class PermissionCheck:
    """Decides, validates, bounds and records calls.

    Attributes:
        redactor: Hides secrets in results, events and the journal.
        hooks: The hook plugins; without them policy alone decides.
        locked: What a lock vouches for: distributions, and MCP servers as `mcp:ID`.
        parts: What the workflow's own tools are made of.
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
    parts: Parts | None = None
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
        span.asked(arguments, self.redactor)
        request = replace(request_for(tool, arguments, self.locked), workspace=self.contract.places)
        # As the model wrote them: what is made of it follows from it.
        call_input = {"tool": name, "input": written}
        # What a composed tool does has rows of its own, so that entering it again repeats nothing.
        repeatable = request.composed or is_repeatable(request)
        effect = scope.tool_effect(tool_use["toolUseId"], name, call_input, repeatable=repeatable)
        if effect.recorded is not None:
            if request.composed or effect.recorded.detail.get(CALLS):
                scope.count_nested(effect.key)
            output = effect.recorded.output
            result: Result = {"toolUseId": tool_use["toolUseId"], **decode({name: output[name] for name in RESULT})}
            if scope.changes is not None and AGENT in output:
                scope.changes.restore(output[AGENT])
            span.replayed(effect, result)
            scope.emit(_finished(scope, effect, name, result, 0.0, replayed=True))
            return result
        await scope.turn(request if tool.absent is None else Request(request.names, claims=TOUCHES_NOTHING))
        asked = {**tool_use, "name": name, "input": arguments}
        refusal = connection_refusal(self.rules, request)
        attempt = Attempt(tool, asked, scope, effect, state, self.contract, self.redactor, refusal)
        effect.keep(**kept_arguments(written, arguments, self.redactor))
        result, seconds = await self._made(attempt, request, problem, span)
        scope.emit(_finished(scope, effect, name, result, seconds, replayed=False))
        await self._plugins.tell(tool, request, scope, result)
        return result

    async def _made(
        self, attempt: Attempt, request: Request, problem: str | None, span: ToolSpan
    ) -> tuple[Result, float]:
        """Make a call that is not in the journal, or refuse it, and store the result."""
        started, changes = attempt.scope.monotonic(), attempt.scope.changes
        before = changes.now() if changes is not None else None
        detail: dict[str, Any] = {"distribution": attempt.tool.planned.distribution}
        absent = attempt.tool.absent
        refusal = attempt.refused(*absent) if absent is not None else _check_input(attempt, problem, self.redactor)
        if refusal is None:
            decision = await self._decide(attempt, request)
            detail |= {"decision": decision.effect, "rule": decision.rule}
            if decision.no_person:
                detail |= {NO_PERSON: True} | ({ALLOWED_BY: decision.allowed_by} if decision.allowed_by else {})
            span.decided(decision)
            if decision.effect != "allow":
                refusal = attempt.refused("denied", f"{attempt.name} was not called: {decision.rule}")
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
        detail |= span.finished(attempt.effect, result)
        if (failure := failure_of(result)) is not None:
            detail[ERROR_CODE] = failure.code
        output = encode({"status": result["status"], "content": result["content"]})
        if changes is not None and (changed := changes.since(before, attempt.name)):
            output[AGENT] = changed
        await attempt.effect.finish(output, detail=detail)
        attempt.scope.count_tool_call()
        return result, attempt.scope.monotonic() - started

    async def _decide(self, attempt: Attempt, request: Request) -> Decision:
        """Ask policy and the hook plugins, and where they ask, ask a person; what comes back is allow or deny."""
        planned, scope = attempt.tool.planned, attempt.scope
        if isinstance(planned, LateTool) and self.locked:
            decision = Decision("deny", "the lock does not have this tool, which was registered during the run")
        else:
            decision = await self._plugins.decide(attempt.tool, request, scope)
        # What a plugin says, and what a rule about arguments quotes, may hold anything.
        decision = replace(decision, rule=self.redactor.text(decision.rule))
        if decision.effect == "ask" and self.is_typed and not is_managed(decision):
            decision = Decision("allow", f"typed by hand ({decision.rule})")
        key = attempt.effect.key
        # What a person has answered about this very call stays so, whatever is allowed meanwhile.
        if decision.effect == "ask" or (
            await scope.take_answer(question_about(key), key) and decision.effect == "allow"
        ):
            decision = await approved(attempt, request, decision)
            decision = replace(decision, rule=self.redactor.text(decision.rule))
        scope.emit(
            ToolCallDecided(
                scope.now(), attempt.effect.key, planned.name, decision.effect, decision.rule, planned.distribution
            )
        )
        return decision


def _arguments_of(tool: LoadedTool, call_input: Any) -> tuple[Any, Any, str | None]:
    """Return the arguments as they are written and as the tool gets them; of those that are not JSON the problem."""
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


def advice_on(planned: PlannedTool) -> tuple[str | None, Mapping[str, Any]]:
    """Return how the workflow names a tool whose advice is shown, and its config; no name for that of a server."""
    if isinstance(planned, (InstalledTool, PythonTool)):
        return planned.ref, planned.config
    return None, {}


def request_for(tool: LoadedTool, arguments: Any, locked: frozenset[str] = frozenset()) -> Request:
    """Return a call as policy sees it; `read_only_when` is matched against these arguments."""
    counted = counted_claims(tool, locked)
    return request_of(
        tool.planned,
        annotations=counted.annotations,
        claims=counted.claims,
        arguments=arguments if isinstance(arguments, Mapping) else {},
        read_only_now=reads_only_now(counted.claims.get("read_only_when"), arguments),
    )


def is_repeatable(request: Request) -> bool:
    """Return whether the call may be made again when a process died inside it."""
    return only_reads(request) or request.annotations.get("idempotentHint") is True


def only_reads(request: Request) -> bool:
    """Return whether the call changes nothing, by what counts of its tool's claims."""
    hints = request.annotations
    return request.read_only_now or (hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True)
