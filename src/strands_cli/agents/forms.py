"""Every form a tool may have, read into one: a name, a spec, and a coroutine that makes the call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from strands.tools import ToolProvider
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from strands_cli.metadata import metadata_of

Progress = Callable[[Any], None]
# (tool use, invocation state, progress) -> what the tool answered, in whatever shape
Invoke = Callable[[Mapping[str, Any], Mapping[str, Any], Progress], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RawTool:
    """One tool as its author made it: its spec with `inputSchema.json`, and how it is called."""

    name: str
    spec: Mapping[str, Any]
    invoke: Invoke


class NotAToolError(Exception):
    """The object is none of the forms; the message says what it is."""


async def read_tools(plugin: Any, config: Mapping[str, Any]) -> tuple[list[RawTool], list[Any]]:
    """Return the tools a plugin object holds, and what must be closed when the run is over.

    Args:
        plugin: What the entry point loaded to: a module, a `@tool`, an `AgentTool`, a class, a provider, a callable.
        config: The tool's own configuration; classes and providers get it as `config` if they accept that keyword.

    Raises:
        NotAToolError: it is none of the forms.
    """
    if isinstance(plugin, ModuleType):
        return _module_tools(plugin), []
    if isinstance(plugin, AgentTool):
        return [_agent_tool(plugin)], []
    if isinstance(plugin, ToolProvider):
        return [_agent_tool(tool) for tool in await plugin.load_tools()], [plugin]
    if inspect.isclass(plugin):
        instance = plugin(**_accepted(plugin, config))
        if isinstance(instance, (AgentTool, ToolProvider)):
            tools, closers = await read_tools(instance, config)
            return tools, closers or [instance]
        return _instance_tools(instance), [instance]
    if callable(plugin) and not _has_tools(plugin):
        return await _provided_tools(plugin, config)
    return _instance_tools(plugin), [plugin]


def _accepted(target: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):
        return {}
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {"config": dict(config)} if "config" in parameters or takes_any else {}


async def _provided_tools(provide: Callable[..., Any], config: Mapping[str, Any]) -> tuple[list[RawTool], list[Any]]:
    """Call a provider function; it returns one tool or an iterable of them."""
    provided = provide(**_accepted(provide, config))
    if inspect.isawaitable(provided):
        provided = await provided
    if isinstance(provided, Mapping) or not isinstance(provided, Iterable):
        provided = [provided]
    tools: list[RawTool] = []
    closers: list[Any] = []
    for item in provided:
        if callable(item) and not isinstance(item, AgentTool) and not inspect.isclass(item):
            raise NotAToolError(f"the provider returned a plain {type(item).__name__}; decorate it with @tool")
        found, closing = await read_tools(item, config)
        tools += found
        closers += closing
    return tools, closers


def _module_tools(module: ModuleType) -> list[RawTool]:
    """Read `TOOL_SPEC`, `TOOL_SPECS`, or the `@tool` functions that the module defines (`__all__` if it has one)."""
    if isinstance(getattr(module, "TOOL_SPEC", None), Mapping):
        return [_spec_tool(module, module.TOOL_SPEC)]
    specs = getattr(module, "TOOL_SPECS", None)
    if isinstance(specs, (list, tuple)):
        return [_spec_tool(module, spec) for spec in specs]
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    exported = hasattr(module, "__all__")
    found = [getattr(module, name, None) for name in names]
    tools = [tool for tool in found if isinstance(tool, AgentTool) and (exported or _defined_in(tool, module))]
    if not tools:
        raise NotAToolError(f"the module {module.__name__} has neither TOOL_SPEC, TOOL_SPECS nor a @tool of its own")
    return [_agent_tool(tool) for tool in tools]


def _defined_in(tool: AgentTool, module: ModuleType) -> bool:
    return getattr(tool, "__module__", None) == module.__name__


def _has_tools(instance: Any) -> bool:
    return any(isinstance(getattr(type(instance), name, None), AgentTool) for name in dir(type(instance)))


def _instance_tools(instance: Any) -> list[RawTool]:
    """Read the `@tool` methods of an instance."""
    names = [name for name in dir(type(instance)) if isinstance(getattr(type(instance), name, None), AgentTool)]
    if not names:
        raise NotAToolError(f"an object of {type(instance).__name__} is no tool and has no @tool methods")
    return [_agent_tool(getattr(instance, name)) for name in names]


def _spec_tool(module: ModuleType, spec: Mapping[str, Any]) -> RawTool:
    name = str(spec.get("name", ""))
    function = getattr(module, name, None) or getattr(module, module.__name__.rpartition(".")[2], None)
    if not callable(function):
        raise NotAToolError(f"the module {module.__name__} has a spec for {name!r} but no function of that name")
    return RawTool(name, normal_spec(spec), _invoke_function(function))


def _agent_tool(tool: AgentTool) -> RawTool:
    if not isinstance(tool, AgentTool):
        raise NotAToolError(f"a {type(tool).__name__} is no tool")
    said = metadata_of(tool)
    spec: dict[str, Any] = dict(tool.tool_spec)
    if said is not None:
        spec["annotations"] = {**spec.get("annotations", {}), **said.annotations}
        spec["strands_cli"] = {**spec.get("strands_cli", {}), **said.strands_cli}
    return RawTool(tool.tool_name, normal_spec(spec), _invoke_agent_tool(tool))


def normal_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool spec whose schema stands under `inputSchema.json`, whatever of the two forms it had."""
    schema = spec.get("inputSchema") or {"type": "object", "properties": {}}
    return {**spec, "inputSchema": schema if "json" in schema else {"json": schema}}


def _invoke_function(function: Callable[..., Any]) -> Invoke:
    """Call a module tool: sync in a thread, async here, an async generator to its last value."""
    accepts_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    accepted = set(inspect.signature(function).parameters)

    async def invoke(tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress) -> Any:
        keywords = state if accepts_any else {name: value for name, value in state.items() if name in accepted}
        keywords = {name: value for name, value in keywords.items() if name != "tool"}
        if inspect.isasyncgenfunction(function):
            return await _last_value(function(tool_use, **keywords), progress)
        if inspect.iscoroutinefunction(function):
            return await function(tool_use, **keywords)
        return await asyncio.to_thread(function, tool_use, **keywords)

    return invoke


async def _last_value(values: AsyncIterable[Any], progress: Progress) -> Any:
    nothing = object()
    last: Any = nothing
    async for value in values:
        if last is not nothing:
            progress(last)
        last = value
    return None if last is nothing else last


def _invoke_agent_tool(tool: AgentTool) -> Invoke:
    """Drive the SDK's own stream of a tool; the last event is the result, those before are progress."""

    async def invoke(tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress) -> Any:
        # A tool that asks for ToolContext needs an agent in the state; a step without a model has none.
        events = tool.stream({**tool_use, "name": tool.tool_name}, {"agent": None, **state})  # type: ignore[typeddict-item]
        result: Any = None
        async for event in events:
            if isinstance(event, ToolResultEvent):
                result = event["tool_result"]
            elif isinstance(event, Mapping) and "tool_stream_event" in event:
                progress(event["tool_stream_event"]["data"])
            elif isinstance(event, Mapping) and {"status", "content"} <= set(event):
                result = event
            else:
                progress(event)
        return result

    return invoke
