"""How each form of tool is called: one coroutine, with intermediate values on the side."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from strands.interrupt import Interrupt, InterruptException
from strands.tools.decorator import DecoratedFunctionTool
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool, ToolContext

Progress = Callable[[Any], None]
# A person's answers to the questions that the tool has raised in this call, by the question's name.
Answers = Mapping[str, Any]
NO_ANSWERS: Answers = MappingProxyType({})
# How long the next value of a stream may take before the latest counts as progress.
PATIENCE_S = 0.05


class Invoke(Protocol):
    """Makes one call and returns the tool's answer, in any shape."""

    def __call__(
        self,
        tool_use: Mapping[str, Any],
        state: Mapping[str, Any],
        progress: Progress,
        answers: Answers = NO_ANSWERS,
        /,
    ) -> Awaitable[Any]:
        """Call the tool; raises `AsksPersonError` for a question without an answer in `answers`."""


class AsksPersonError(Exception):
    """The tool wants a person's answer in the middle of its work (`ToolContext.interrupt`)."""

    def __init__(self, interrupt: Interrupt) -> None:
        super().__init__(str(interrupt.reason or interrupt.name))
        self.interrupt = interrupt


class AskingContext(ToolContext):
    """The SDK's context of one call, whose questions are answered with a person's answers in the same call.

    The SDK's own keeps answers with the agent by tool-use id; a step has no agent, and some servers give two calls of
    one turn the same id: one would get the answer that was meant for the other.
    """

    answers: Answers = NO_ANSWERS

    def interrupt(self, name: str, reason: Any = None, response: Any = None) -> Any:
        """Return the answer to a question of this name, or leave the call until there is one."""
        if str(name) in self.answers:
            return self.answers[str(name)]
        if response is not None:
            return response
        raise InterruptException(Interrupt(f"{self.tool_use['toolUseId']}/{name}", name, reason))


def invoke_function(function: Callable[..., Any]) -> Invoke:
    """Call a module tool: sync in a thread, async here, an async generator to its last value."""
    parameters = list(inspect.signature(function).parameters.values())
    accepts_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    # The first one is the tool use, under any name.
    first_names = {parameter.name for parameter in parameters[:1]}
    accepted = {parameter.name for parameter in parameters[1:]}

    async def invoke(
        tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress, answers: Answers = NO_ANSWERS, /
    ) -> Any:
        keywords = {
            name: value
            for name, value in state.items()
            if name not in first_names and (accepts_any or name in accepted)
        }
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            answer = function(dict(tool_use), **keywords)
        else:
            answer = await asyncio.to_thread(_without_stop, function, dict(tool_use), keywords)
        # A decorator may hide an async function behind a plain one.
        if inspect.isasyncgen(answer):
            return await _last_value(answer, progress)
        return await answer if inspect.isawaitable(answer) else answer

    return invoke


def _without_stop(function: Callable[..., Any], tool_use: Mapping[str, Any], keywords: Mapping[str, Any]) -> Any:
    try:
        return function(tool_use, **keywords)
    except StopIteration as error:
        # A future cannot hold it: on Python 3.11 the caller would wait for ever.
        raise RuntimeError(f"the tool raised StopIteration: {error}") from error


def invoke_agent_tool(tool: AgentTool) -> Invoke:
    """Drive the SDK's own stream of a tool; the last event is the result, those before are progress."""

    async def invoke(
        tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress, answers: Answers = NO_ANSWERS, /
    ) -> Any:
        # A tool that asks for ToolContext needs an agent in the state, also where a test calls it by itself.
        state = {"agent": None, **state}
        named: Any = {**tool_use, "name": tool.tool_name}
        context = {}
        if isinstance(tool, DecoratedFunctionTool):
            context = {"_tool_context": asking_context(named, state, answers)}
        try:
            stream = tool.stream(named, dict(state), **context)
            return await _last_value(stream, progress, says_result=isinstance(tool, DecoratedFunctionTool))
        except InterruptException as error:
            raise AsksPersonError(error.interrupt) from error

    return invoke


def asking_context(tool_use: Any, state: Mapping[str, Any], answers: Answers) -> AskingContext:
    """Return the `ToolContext` of a `@tool`; where no model calls, our own signal tells it to give up."""
    contract = state.get("strands_cli")
    ours = contract.get("cancel") if isinstance(contract, Mapping) else None
    theirs = getattr(state["agent"], "cancel_signal", None) if getattr(state["agent"], "has_model", True) else None
    signal = theirs or ours or threading.Event()
    context = AskingContext(tool_use, state["agent"], dict(state), signal)
    context.answers = answers
    return context


class _Latest:
    """Holds the latest value of a stream, which only the next one shows not to be the result.

    Where the next one takes its time, it is reported meanwhile: a tool that says "begun" and works is not silent.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._held: list[Any] = []
        self._timer: asyncio.TimerHandle | None = None
        self.result: Any = None

    def put(self, value: Any, *, may_be_result: bool) -> None:
        self.tell()
        self.result = value if may_be_result else None
        self._held = [value]
        self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self.tell)

    def tell(self) -> None:
        values = self._held
        self.drop()
        for value in values:
            self._progress(value)

    def drop(self) -> None:
        self._held = []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def _last_value(values: AsyncIterable[Any], progress: Progress, *, says_result: bool = False) -> Any:
    """Return the last value of a stream; the SDK's result event ends it, its stream events are never the result.

    Args:
        progress: Takes each value before the last.
        says_result: Whether its last value is the last of its stream events too, as with a decorated generator.
    """
    latest = _Latest(progress)
    try:
        async for value in values:
            if isinstance(value, ToolResultEvent):
                latest.drop() if says_result and value.exception is None else latest.tell()
                return value["tool_result"]
            if isinstance(value, Mapping) and "tool_interrupt_event" in value:
                raise AsksPersonError(value["tool_interrupt_event"]["interrupts"][0])
            if isinstance(value, Mapping) and "tool_stream_event" in value:
                latest.put(value["tool_stream_event"]["data"], may_be_result=False)
            else:
                latest.put(value, may_be_result=True)
    except BaseException:
        latest.tell()
        raise
    latest.drop()
    return latest.result
