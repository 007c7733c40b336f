"""How each form of tool is called: one coroutine, with intermediate values on the side."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from typing import Any

from strands.interrupt import InterruptException
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

Progress = Callable[[Any], None]
# (tool use, invocation state, progress) -> what the tool answered, in whatever shape
Invoke = Callable[[Mapping[str, Any], Mapping[str, Any], Progress], Awaitable[Any]]


class AsksPersonError(Exception):
    """The tool wants a person's answer in the middle of its work (`ToolContext.interrupt`)."""


def invoke_function(function: Callable[..., Any]) -> Invoke:
    """Call a module tool: sync in a thread, async here, an async generator to its last value."""
    parameters = list(inspect.signature(function).parameters.values())
    accepts_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    # The first one is the tool use, whatever its name.
    taken = {parameter.name for parameter in parameters[:1]}
    accepted = {parameter.name for parameter in parameters[1:]}

    async def invoke(tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress) -> Any:
        keywords = {
            name: value for name, value in state.items() if name not in taken and (accepts_any or name in accepted)
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
        # A future cannot hold it: on Python 3.11 whoever waits would wait for ever.
        raise RuntimeError(f"the tool raised StopIteration: {error}") from error


def invoke_agent_tool(tool: AgentTool) -> Invoke:
    """Drive the SDK's own stream of a tool; the last event is the result, those before are progress."""

    async def invoke(tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress) -> Any:
        # A tool that asks for ToolContext needs an agent in the state; a step without a model has none.
        events = tool.stream({**tool_use, "name": tool.tool_name}, {"agent": None, **state})  # type: ignore[typeddict-item]
        try:
            return await _last_value(events, progress)
        except InterruptException as error:
            raise AsksPersonError(str(error.interrupt.reason or error.interrupt.name)) from error

    return invoke


async def _last_value(values: AsyncIterable[Any], progress: Progress) -> Any:
    """Return the last value of a stream; the SDK's result event ends it, its stream events are never the result."""
    nothing = object()
    last: Any = nothing
    async for value in values:
        if last is not nothing:
            progress(last)
            last = nothing
        if isinstance(value, ToolResultEvent):
            return value["tool_result"]
        if isinstance(value, Mapping) and "tool_interrupt_event" in value:
            asked = value["tool_interrupt_event"]["interrupts"][0]
            raise AsksPersonError(str(asked.reason or asked.name))
        if isinstance(value, Mapping) and "tool_stream_event" in value:
            progress(value["tool_stream_event"]["data"])
        else:
            last = value
    return None if last is nothing else last
