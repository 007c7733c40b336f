"""The gate: the one coroutine that stands before every tool call, whoever asks for it."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strands_cli.agents.asking import Asking
from strands_cli.agents.bounded import Raised, bounded
from strands_cli.agents.declared import LoadedTool
from strands_cli.agents.hooked import CallHooks, through_wrappers
from strands_cli.agents.invoke import Answers, AsksPersonError
from strands_cli.agents.results import (
    Result,
    capped,
    error_of,
    error_result,
    printable_value,
    redacted,
    shortened,
    well_formed,
)
from strands_cli.agents.schemas import SchemaFaultError, first_problem, prepared
from strands_cli.agents.turns import decode, encode
from strands_cli.canonical import digest_of
from strands_cli.engine.effects import Effect
from strands_cli.engine.ports import Question
from strands_cli.engine.scope import StepScope
from strands_cli.errors import StrandsCliError
from strands_cli.events import ToolCallDecided, ToolCallFinished, ToolProgress
from strands_cli.hooks.manager import Hooks
from strands_cli.hooks.values import ToolCall
from strands_cli.planning.plan import PlannedTool
from strands_cli.planning.requests import request_of
from strands_cli.planning.secrets import secrets_declared
from strands_cli.policy import Decision, Request, Rule
from strands_cli.secrets import redact, redact_json

DEFAULT_TIMEOUT_S = 120.0
DEFAULT_OUTPUT_BYTES = 64 * 1024
MAX_SHOWN = 1000
MAX_SHOWN_ITEMS = 50


@dataclass(frozen=True, slots=True)
class Contract:
    """Calling contract 1: what a tool gets besides its input, under the key `strands_cli`.

    `secrets` are all of the run; each tool gets those that it declares.
    """

    workspace: Mapping[str, Any]
    secrets: Mapping[str, str]

    def keywords(
        self, config: Mapping[str, Any], deadline: float, cancel: threading.Event, declared: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return the contract of one call; a tool may keep or change its copy.

        Args:
            config: The tool's own configuration.
            deadline: The moment of `time.monotonic()` by which it must answer.
            cancel: Is set when nobody waits for the answer any more.
            declared: The secrets that it asks for.
        """
        return {
            "config": copy.deepcopy(dict(config)),
            "workspace": copy.deepcopy(dict(self.workspace)),
            "secrets": {name: self.secrets[name] for name in declared if name in self.secrets},
            "deadline": deadline,
            "cancel": cancel,
        }


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides, validates, bounds and records calls.

    Attributes:
        rules: All rules in force.
        contract: What every tool gets.
        secrets: Values that may not appear in a result, an event or the journal.
        hooks: The hook plugins; without them policy alone decides.
        workflow: The workflow's file.
        is_typed: Whether a person has typed the call by hand, which answers whatever would be asked about it.
    """

    rules: Sequence[Rule]
    contract: Contract
    secrets: frozenset[str] = frozenset()
    hooks: Hooks | None = None
    workflow: str | None = None
    is_typed: bool = False

    @property
    def _plugins(self) -> CallHooks:
        return CallHooks(self.rules, self.hooks, self.workflow)

    async def call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any]
    ) -> Result:
        """Make one call, or say in the result why not; a reason to stop the run is left on the scope.

        Args:
            tool: The tool as loaded.
            tool_use: `{toolUseId, name, input}` as the model or the step asks for it.
            scope: The step in which the call happens.
            state: The SDK's invocation state; empty where no agent asks.

        Returns:
            A well-formed tool result; never an exception but cancellation.
        """
        try:
            return await self._call(tool, tool_use, scope, state)
        except StrandsCliError as error:
            # The SDK would turn the exception into text for the model: leave the reason, end the agent's loop.
            scope.stop(error)
        except Exception as error:  # noqa: BLE001 - our own mistake must end the run, never become text for a model
            said = redact(f"{type(error).__name__}: {error}", self.secrets)
            scope.stop(StrandsCliError(f"the gate failed at {tool.planned.name}: {said}"))
        return error_result(tool_use["toolUseId"], "unavailable", "the run stops here")

    async def _call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any]
    ) -> Result:
        tool_use_id, name = tool_use["toolUseId"], tool.planned.name
        arguments = prepared(tool.schema, tool_use["input"])
        request = request_for(tool, arguments)
        effect = scope.tool_effect(
            tool_use_id, name, {"tool": name, "input": arguments}, repeatable=is_repeatable(request)
        )
        if effect.recorded is not None:
            result: Result = {"toolUseId": tool_use_id, **decode(effect.recorded.output)}
            scope.emit(_finished(scope, effect, name, result, 0.0, replayed=True))
            return result
        started = scope.monotonic()
        detail: dict[str, Any] = {"distribution": tool.planned.distribution}
        refusal = _check_input(tool, arguments, tool_use_id)
        if refusal is None:
            decision = await self._decide(tool, request, arguments, scope, effect)
            detail |= {"decision": decision.effect, "rule": decision.rule}
            if decision.effect != "allow":
                refusal = error_result(tool_use_id, "denied", f"{name} was not called: {decision.rule}")
        if refusal is None:
            asked = {**tool_use, "name": name, "input": arguments}
            result = await self._carry_through(tool, asked, scope, state, effect)
        else:
            await effect.start()
            result = refusal
        # Redacted before it is cut: half a secret at the edge would not be found.
        result = capped(redacted(result, self.secrets), int(_limit(tool, "max_output_bytes", DEFAULT_OUTPUT_BYTES)))
        await effect.finish(encode({"status": result["status"], "content": result["content"]}), detail=detail)
        scope.count_tool_call()
        scope.emit(_finished(scope, effect, name, result, scope.monotonic() - started, replayed=False))
        await self._plugins.tell(tool, request, scope, result)
        return result

    async def _decide(
        self, tool: LoadedTool, request: Request, arguments: Any, scope: StepScope, effect: Effect
    ) -> Decision:
        """Ask policy and the hook plugins, and where they ask, ask a person; what comes back is allow or deny."""
        planned, decision = tool.planned, await self._plugins.decide(tool, request, scope)
        if decision.plugin is not None:
            decision = replace(decision, rule=redact(decision.rule, self.secrets))
        if decision.effect == "ask" and self.is_typed:
            decision = Decision("allow", f"typed by hand ({decision.rule})")
        if decision.effect == "ask":
            decision = await self._approve(planned, arguments, decision, scope, effect)
        event = ToolCallDecided(
            scope.now(), effect.key, planned.name, decision.effect, decision.rule, planned.distribution
        )
        scope.emit(event)
        return decision

    async def _approve(
        self, planned: PlannedTool, arguments: Any, asked: Decision, scope: StepScope, effect: Effect
    ) -> Decision:
        """Put the call to a person; the approval is bound to the digest of these very arguments."""
        name = planned.name
        question = Question(
            key=f"{effect.key}/approval",
            kind="approval",
            prompt=f"Allow {scope.who} to call {name} of {planned.distribution}? ({asked.rule})",
            context=_shown(redact_json(arguments, self.secrets)),
            pattern="yes|no",
        )
        answer = await scope.ask(question, {"tool": name, "arguments": digest_of(arguments)})
        if answer.outcome == "nobody":
            only_a_person = asked.plugin is not None or (asked.by and asked.by.level == "managed")
            fix = "" if only_a_person else f"; allow it with --allow {name} or --yes"
            return Decision("deny", f"{asked.rule}, and nobody is there to ask{fix}")
        if answer.text == "yes":
            return Decision("allow", f"approved by {answer.by}")
        return Decision("deny", f"refused by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))

    async def _carry_through(
        self,
        tool: LoadedTool,
        tool_use: Mapping[str, Any],
        scope: StepScope,
        state: Mapping[str, Any],
        effect: Effect,
    ) -> Result:
        """Execute the tool, from its start again with each answer of a person that it asks for on the way."""
        asking = Asking(tool, tool_use["input"], scope, effect, self.secrets)
        refusal = await asking.recall()
        try:
            while True:
                await effect.start()
                if refusal is not None:
                    said = f"{tool.planned.name} asked a person and ends here: {refusal}"
                    return error_result(tool_use["toolUseId"], "denied", said)
                try:
                    return await self._execute(tool, tool_use, scope, state, effect, asking.answers)
                except AsksPersonError as error:
                    refusal = await asking.ask(error.interrupt)
        finally:
            asking.forget()

    async def _execute(
        self,
        tool: LoadedTool,
        tool_use: Mapping[str, Any],
        scope: StepScope,
        state: Mapping[str, Any],
        effect: Effect,
        answers: Answers,
    ) -> Result:
        """Run the tool, inside what hook plugins put around it.

        Raises:
            AsksPersonError: it asks what `answers` does not hold.
        """

        async def invoke() -> Result:
            return await self._invoke(tool, tool_use, scope, state, effect, answers)

        if not tool.wrappers:
            return await invoke()
        call = ToolCall(tool.planned.name, tool_use["input"], scope.who)
        # What stands around the call has as much time again.
        seconds = 2 * _limit(tool, "timeout_s", DEFAULT_TIMEOUT_S)
        return await through_wrappers(tool.wrappers, call, invoke, tool_use["toolUseId"], seconds)

    async def _invoke(
        self,
        tool: LoadedTool,
        tool_use: Mapping[str, Any],
        scope: StepScope,
        state: Mapping[str, Any],
        effect: Effect,
        answers: Answers,
    ) -> Result:
        """Run the tool within its time, and make whatever comes back a well-formed result.

        Raises:
            AsksPersonError: it asks what `answers` does not hold.
        """
        timeout_s = _limit(tool, "timeout_s", DEFAULT_TIMEOUT_S)
        over = threading.Event()
        declared = secrets_declared(tool.planned, tool.claims)
        contract = self.contract.keywords(tool.planned.config, scope.monotonic() + timeout_s, over, declared)

        def progress(value: Any) -> None:
            if not over.is_set():
                shown = redact_json(printable_value(value), self.secrets)
                scope.emit(ToolProgress(scope.now(), effect.key, tool.planned.name, shown))

        tool_use_id = tool_use["toolUseId"]
        try:
            answer = await bounded(
                lambda: tool.raw.invoke(tool_use, {**state, "strands_cli": contract}, progress, answers), timeout_s
            )
        except TimeoutError:
            return error_result(tool_use_id, "timeout", f"no answer within {timeout_s:g} s", retryable=True)
        finally:
            over.set()
        if isinstance(answer, Raised) and isinstance(answer.error, AsksPersonError):
            raise answer.error
        if isinstance(answer, Raised):
            return _raised(answer.error, tool_use_id)
        return well_formed(answer, tool_use_id)


def _check_input(tool: LoadedTool, arguments: Any, tool_use_id: str) -> Result | None:
    """Return the error result for arguments that the tool cannot be called with, or None."""
    if not isinstance(arguments, Mapping):
        got = shortened(str(arguments), 200)
        return error_result(tool_use_id, "invalid_input", f"the arguments are not a JSON object: {got}")
    try:
        problem = first_problem(tool.schema, arguments)
    except SchemaFaultError as fault:
        return error_result(tool_use_id, "unavailable", f"the tool's input schema cannot be used: {fault}")
    return error_result(tool_use_id, "invalid_input", problem) if problem is not None else None


def _raised(error: BaseException, tool_use_id: str) -> Result:
    """Return the error result for what a tool raised."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - even __str__ is foreign code
        said = "(its message cannot be read)"
    return error_result(tool_use_id, "tool_failed", f"{type(error).__name__}: {said}".removesuffix(": "))


def _limit(tool: LoadedTool, word: str, default: float) -> float:
    """Return a limit that the tool states for itself, if it is one."""
    stated = tool.claims.get(word)
    sound = isinstance(stated, (int, float)) and not isinstance(stated, bool) and 0 < stated < float("inf")
    return stated if sound and stated is not None else default


def _finished(
    scope: StepScope, effect: Effect, name: str, result: Result, seconds: float, *, replayed: bool
) -> ToolCallFinished:
    error = error_of(result)
    code = str(error["code"]) if error else None
    truncated = result["content"][-1].get("json", {}) if result["content"] else {}
    return ToolCallFinished(
        scope.now(),
        effect.key,
        name,
        result["status"],
        seconds,
        code,
        isinstance(truncated, Mapping) and truncated.get("truncated") is True,
        replayed,
    )


def request_for(tool: LoadedTool, arguments: Any) -> Request:
    """Return a call as policy sees it; `read_only_when` is matched against these arguments."""
    return request_of(
        tool.planned,
        annotations=tool.spec.get("annotations") or {},
        claims=tool.claims,
        arguments=arguments if isinstance(arguments, Mapping) else {},
        read_only_now=_reads_only_now(tool.claims.get("read_only_when"), arguments),
    )


def _reads_only_now(condition: Any, arguments: Any) -> bool:
    if not isinstance(condition, Mapping) or not isinstance(arguments, Mapping):
        return False
    try:
        return first_problem(condition, arguments) is None
    except SchemaFaultError:
        return False


def is_repeatable(request: Request) -> bool:
    """Return whether the call may be made again when a process died inside it."""
    hints = request.annotations
    reads_only = hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True
    return request.read_only_now or reads_only or hints.get("idempotentHint") is True


def _shown(arguments: Any) -> str:
    """Return the arguments for a person; each long text is cut by itself, so that none pushes another out of sight."""
    return json.dumps(_cut(arguments), ensure_ascii=False, indent=2, default=str)


def _cut(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _cut(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        shown = [_cut(item) for item in value[:MAX_SHOWN_ITEMS]]
        return shown if len(value) <= MAX_SHOWN_ITEMS else [*shown, f"... ({len(value)} items in all)"]
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        return f"{value[:MAX_SHOWN]}... ({len(value)} characters in all)"
    return value
