"""The gate: the one coroutine that stands before every tool call, whoever asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.agents.load import LoadedTool
from strands_cli.agents.results import Result, capped, error_result, well_formed
from strands_cli.agents.schemas import fill_defaults, first_problem
from strands_cli.canonical import digest_of
from strands_cli.engine.effects import Effect
from strands_cli.engine.ports import Question
from strands_cli.engine.scope import StepScope
from strands_cli.errors import StrandsCliError
from strands_cli.events import ToolCallDecided, ToolCallFinished
from strands_cli.planning.plan import PlannedTool
from strands_cli.policy import Decision, Request, Rule, decide

DEFAULT_TIMEOUT_S = 120.0
DEFAULT_OUTPUT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Contract:
    """Calling contract 1: what a tool gets besides its input, under the key `strands_cli`."""

    workspace: Mapping[str, Any]
    secrets: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Gate:
    """Decides, validates, bounds and records calls; `rules` are all that are in force."""

    rules: Sequence[Rule]
    contract: Contract

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
            return error_result(tool_use["toolUseId"], "unavailable", "the run stops here")

    async def _call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any]
    ) -> Result:
        tool_use_id, name = tool_use["toolUseId"], tool.planned.name
        arguments = fill_defaults(tool.spec["inputSchema"]["json"], tool_use["input"])
        request = request_for(tool, arguments)
        repeatable = request.read_only_now or request.annotations.get("idempotentHint") is True or _reads_only(request)
        given = {"tool": name, "input": arguments}
        effect = scope.tool_effect(tool_use_id, name, given, repeatable=repeatable)
        if effect.recorded is not None:
            result = {**effect.recorded.output, "toolUseId": tool_use_id}
            self._finished(scope, effect, name, result, 0.0, replayed=True)
            return result
        started = scope.monotonic()
        detail: dict[str, Any] = {"distribution": tool.planned.distribution}
        if (problem := first_problem(tool.spec["inputSchema"]["json"], arguments)) is not None:
            result = error_result(tool_use_id, "invalid_input", problem)
            await effect.start()
        else:
            decision = await self._decide(tool.planned, request, arguments, scope, effect)
            detail |= {"decision": decision.effect, "rule": decision.rule}
            await effect.start()
            if decision.effect == "allow":
                result = await self._execute(tool, {**tool_use, "name": name, "input": arguments}, scope, state, effect)
            else:
                result = error_result(tool_use_id, "denied", f"{name} was not called: {decision.rule}")
        await effect.finish({"status": result["status"], "content": result["content"]}, detail=detail)
        scope.count_tool_call()
        self._finished(scope, effect, name, result, scope.monotonic() - started, replayed=False)
        return result

    async def _decide(
        self, planned: PlannedTool, request: Request, arguments: Any, scope: StepScope, effect: Effect
    ) -> Decision:
        """Ask policy, and where policy asks, ask a person; what comes back is allow or deny."""
        decision = decide(self.rules, request)
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
            context=_shown(arguments),
            pattern="yes|no",
        )
        answer = await scope.ask(question, {"tool": name, "arguments": digest_of(arguments)})
        if answer.outcome == "nobody":
            return Decision("deny", f"{asked.rule}, and nobody is there to ask; allow it with --allow {name} or --yes")
        if answer.text == "yes":
            return Decision("allow", f"approved by {answer.by}")
        return Decision("deny", f"refused by {answer.by}")

    async def _execute(
        self,
        tool: LoadedTool,
        tool_use: Mapping[str, Any],
        scope: StepScope,
        state: Mapping[str, Any],
        effect: Effect,
    ) -> Result:
        """Run the tool within its time and size, and make whatever comes back a well-formed result."""
        claims = tool.claims
        timeout_s = float(claims.get("timeout_s") or DEFAULT_TIMEOUT_S)
        contract = {
            "config": dict(tool.planned.config),
            "workspace": dict(self.contract.workspace),
            "secrets": dict(self.contract.secrets),
            "deadline": scope.now() + timeout_s,
            "cancel": state.get("cancel_signal"),
        }
        tool_use_id = tool_use["toolUseId"]
        try:
            async with asyncio.timeout(timeout_s):
                answer = await tool.run(tool_use, {**state, "strands_cli": contract}, scope, effect.key)
        except TimeoutError:
            return error_result(tool_use_id, "timeout", f"no answer within {timeout_s:g} s", retryable=True)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - foreign code may raise anything, SystemExit too
            return error_result(tool_use_id, "tool_failed", f"{type(error).__name__}: {error}")
        result = well_formed(answer, tool_use_id)
        return capped(result, int(claims.get("max_output_bytes") or DEFAULT_OUTPUT_BYTES))

    def _finished(
        self, scope: StepScope, effect: Effect, name: str, result: Result, seconds: float, *, replayed: bool
    ) -> None:
        blocks = [block["json"] for block in result["content"] if isinstance(block.get("json"), dict)]
        error: dict[str, Any] = next((block["error"] for block in blocks if isinstance(block.get("error"), dict)), {})
        code = str(error.get("code", "tool_failed")) if result["status"] == "error" else None
        truncated = any(block.get("truncated") is True for block in blocks)
        scope.emit(
            ToolCallFinished(scope.now(), effect.key, name, result["status"], seconds, code, truncated, replayed)
        )


def request_for(tool: LoadedTool, arguments: Any) -> Request:
    """Return a call as policy sees it; `read_only_when` is matched against these arguments."""
    condition = tool.claims.get("read_only_when")
    return Request(
        names=tool.planned.names,
        annotations=tool.spec.get("annotations") or {},
        claims=tool.claims,
        read_only_now=condition is not None and first_problem(condition, arguments) is None,
    )


def _reads_only(request: Request) -> bool:
    hints = request.annotations
    return hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True


def _shown(arguments: Any) -> str:
    import json

    text = json.dumps(arguments, ensure_ascii=False, indent=2, default=str)
    return text if len(text) <= 4000 else f"{text[:4000]}\n... ({len(text)} characters in all)"
