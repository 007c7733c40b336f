"""The one reader of the forms that a tool may have once it is imported: a name, a spec, and a coroutine for the call.

`catalog/source/source_reader.py` reads the facts in source without an import.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from strands.tools import ToolProvider
from strands.types.tools import AgentTool

from strands_cli.catalog.source.source_tool import normal_spec, with_metadata
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import UsageError
from strands_cli.metadata import metadata_of
from strands_cli.policy.tool_claims import NO_CLAIMS, Claims, tightened
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.invocation import Invoke, invoke_agent_tool, invoke_function
from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem

# A tool's answer against the output schema that it declares.


_NONE = object()


def output_schema_of(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the JSON Schema of a tool's answer, whichever of the two forms the spec has it in; None: no promise."""
    stated = spec.get("outputSchema")
    if not isinstance(stated, Mapping):
        return None
    inner = stated.get("json") if set(stated) == {"json"} else stated
    return inner if isinstance(inner, Mapping) else None


def output_problem(
    schema: Mapping[str, Any] | None,
    result: Mapping[str, Any],
    redactor: Redactor = HIDE_NOTHING,
    structured: Any = None,
) -> str | None:
    """Return why a result does not fit the output schema, with the place, or None.

    Args:
        schema: The output schema; without one nothing is promised. An error result promises nothing either.
        result: The result, well formed.
        redactor: Hides secrets in the answer.
        structured: The tool's own structured content (MCP).
    """
    if schema is None or result["status"] != "success":
        return None
    value = json_in(result["content"]) if structured is None else structured
    if value is _NONE:
        return "the result holds no JSON, which the tool's output schema promises"
    try:
        problem = first_problem(schema, value, redactor)
    except SchemaFaultError as fault:
        return f"the tool's output schema cannot be used: {fault}"
    return None if problem is None else f"the result does not fit the tool's output schema: {problem}"


def json_in(content: Iterable[Mapping[str, Any]]) -> Any:
    """Return the last JSON of a result: a block of that kind, else a text in JSON."""
    blocks = list(content)[::-1]
    for block in blocks:
        if "json" in block:
            return block["json"]
    for block in blocks:
        try:
            return json.loads(block["text"])
        except (KeyError, ValueError, RecursionError):
            continue
    return _NONE


# Under this name a provider knows that it is in use.
CONSUMER = "strands-cli"
# Where the SDK's adapter for the tools of MCP servers lives; importing it would bring all of `mcp`.
MCP_ADAPTER = "strands.tools.mcp"
_OBJECTS = (AgentTool, ToolProvider)
# The owner, for people, and the function to call (and await, if it is a coroutine) when the run is over.
Closer = tuple[str, Callable[[], Any]]


class SpecifiedTool:
    """A tool whose spec has its input schema under `inputSchema.json`."""

    __slots__ = ()
    spec: Mapping[str, Any]

    @property
    def claims(self) -> Mapping[str, Any]:
        """The tool's claims under `strands_cli`: limits, confirmation, capabilities."""
        return json_object(self.spec.get("strands_cli"))

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of its input."""
        schema: Mapping[str, Any] = self.spec["inputSchema"]["json"]
        return schema

    @property
    def output_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of its answer; None where it promises nothing."""
        return output_schema_of(self.spec)


@dataclass(frozen=True, slots=True)
class RawTool(SpecifiedTool):
    """One tool as its author made it: its spec with `inputSchema.json`, and how it is called.

    Attributes:
        name: The tool's own name.
        is_remote: Whether it is a tool of an MCP server, whose claims are not vouched for.
        made_of: The function or object that it was read from.
    """

    name: str
    spec: Mapping[str, Any]
    invoke: Invoke
    is_remote: bool = False
    made_of: Any = None


class NotAToolError(Exception):
    """The object is none of the forms; the message names its type."""


async def read_reference(
    module: ModuleType, attribute: str | None, config: Mapping[str, Any], closers: list[Closer]
) -> list[RawTool]:
    """Return the tools of an entry point: a module, or an attribute in it.

    A function that a `TOOL_SPEC` of the module describes may be named by itself.

    Raises:
        AttributeError: the module has no such attribute.
        NotAToolError: it is none of the forms.
    """
    if attribute and (spec := spec_named(module, attribute)) is not None:
        return [_spec_tool(module, spec)]
    return await read_tools(_attribute(module, attribute), config, closers)


async def describe_reference(module: ModuleType, attribute: str | None) -> tuple[str, list[Mapping[str, Any]]]:
    """Return the kind of an entry point's object, a word of `manifest.KINDS`, and the specs of its tools.

    A class whose methods are the tools is described without an instance, which may need a configuration.

    Raises:
        AttributeError: the module has no such attribute.
        NotAToolError: it is none of the forms.
    """
    if attribute and (spec := spec_named(module, attribute)) is not None:
        return "module", [_spec_tool(module, spec).spec]
    plugin, closers = _attribute(module, attribute), list[Closer]()
    try:
        if inspect.isclass(plugin) and not issubclass(plugin, _OBJECTS) and _tool_methods(plugin):
            tools = _instance_tools(plugin)
        else:
            tools = await read_tools(plugin, {}, closers)
    finally:
        await close_all(closers)
    return _kind_of(plugin, tools), [{**raw.spec, "name": raw.name} for raw in tools]


def _attribute(module: ModuleType, attribute: str | None) -> Any:
    plugin: Any = module
    for part in attribute.split(".") if attribute else ():
        plugin = getattr(plugin, part)
    return plugin


def _kind_of(plugin: Any, tools: Sequence[RawTool]) -> str:
    """Return the word of a manifest for a plugin object."""
    if isinstance(plugin, ModuleType):
        if isinstance(getattr(plugin, "TOOL_SPEC", None), Mapping):
            return "module"
        is_suite = hasattr(plugin, "TOOL_SPECS") or len(tools) != 1
        return "suite" if is_suite else _kind_of(tools[0].made_of, tools)
    kind = plugin if inspect.isclass(plugin) else type(plugin)
    if issubclass(kind, AgentTool):
        return "function" if hasattr(plugin, "__wrapped__") else "agent_tool"
    return "class" if not issubclass(kind, ToolProvider) and _tool_methods(plugin) else "provider"


async def read_tools(plugin: Any, config: Mapping[str, Any], closers: list[Closer]) -> list[RawTool]:
    """Return the tools a plugin object holds.

    Args:
        plugin: The object of the entry point: a module, a `@tool`, an `AgentTool`, a class, a provider, a callable.
        config: The tool's own configuration; classes and providers get it as `config` if they accept that keyword.
        closers: Gets the functions to call when the run is over, also when reading fails later. An object of a module
            belongs to the module and stays as it is.

    Raises:
        NotAToolError: it is none of the forms.
    """
    if isinstance(plugin, ModuleType):
        closers += _module_closing(plugin)
        return _module_tools(plugin)
    if isinstance(plugin, AgentTool):
        return [read_agent_tool(plugin)]
    if isinstance(plugin, ToolProvider):
        plugin.add_consumer(CONSUMER)
        closers.append((type(plugin).__name__, partial(plugin.remove_consumer, CONSUMER)))
        return [read_agent_tool(tool) for tool in await plugin.load_tools()]
    if inspect.isclass(plugin):
        return await _class_tools(plugin, config, closers)
    if callable(plugin) and not _tool_methods(plugin):
        return await _provided_tools(plugin, config, closers)
    return _instance_tools(plugin)


async def close_all(closers: list[Closer]) -> list[str]:
    """Close the objects made for the run and release those in use; return the problems, one line each."""
    problems: list[str] = []
    while closers:
        name, close = closers.pop()
        try:
            outcome = close()
            if inspect.isawaitable(outcome):
                await outcome
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - foreign code; the run's result holds, and the person reads the reason
            problems.append(f"closing {name} failed: {type(error).__name__}: {error}")
    return problems


def _closing(holder: Any) -> list[Closer]:
    methods = (getattr(holder, name, None) for name in ("aclose", "close", "cleanup"))
    return [(type(holder).__name__, method) for method in methods if callable(method)][:1]


def _module_closing(module: ModuleType) -> list[Closer]:
    """Return a module tool's own `close()`, which ends its state between the calls of a run."""
    close = getattr(module, "close", None)
    has_spec = hasattr(module, "TOOL_SPEC") or hasattr(module, "TOOL_SPECS")
    if not has_spec or not inspect.isfunction(close) or close.__module__ != module.__name__:
        return []
    return [(module.__name__, close)] if not inspect.signature(close).parameters else []


async def _class_tools(plugin: type, config: Mapping[str, Any], closers: list[Closer]) -> list[RawTool]:
    """Make the one instance of the run and read its tools."""
    if not issubclass(plugin, _OBJECTS) and not _tool_methods(plugin):
        raise NotAToolError(f"the class {plugin.__name__} is not a tool and has no @tool methods")
    instance = plugin(**_accepted(plugin, config))
    closers += _closing(instance)
    return await read_tools(instance, config, closers) if isinstance(instance, _OBJECTS) else _instance_tools(instance)


def _accepted(target: Callable[..., Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return `config` as a keyword where the target takes one."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return {}
    parameters = signature.parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    keywords = {"config": dict(config)} if "config" in parameters or takes_any else {}
    try:
        signature.bind(**keywords)
    except TypeError as error:
        name = getattr(target, "__name__", type(target).__name__)
        raise NotAToolError(f"{name}{signature} is not decorated with @tool, and as a provider: {error}") from error
    return keywords


async def _provided_tools(provide: Callable[..., Any], config: Mapping[str, Any], closers: list[Any]) -> list[RawTool]:
    """Call a provider function; it returns one tool or an iterable of them."""
    provided = provide(**_accepted(provide, config))
    if inspect.isawaitable(provided):
        provided = await provided
    if isinstance(provided, (str, Mapping)) or not isinstance(provided, Iterable):
        provided = [provided]
    tools: list[RawTool] = []
    for item in provided:
        if callable(item) and not isinstance(item, (AgentTool, type)) and not _tool_methods(item):
            raise NotAToolError(f"the provider returned a plain {type(item).__name__}; decorate it with @tool")
        if _tool_methods(item) and not inspect.isclass(item):
            closers += _closing(item)
        tools += await read_tools(item, config, closers)
    return tools


def _module_tools(module: ModuleType) -> list[RawTool]:
    """Read `TOOL_SPEC`, `TOOL_SPECS`, or the `@tool` functions that the module defines (`__all__` if it has one)."""
    if isinstance(getattr(module, "TOOL_SPEC", None), Mapping):
        return [_spec_tool(module, module.TOOL_SPEC)]
    specs = getattr(module, "TOOL_SPECS", None)
    if isinstance(specs, (list, tuple)):
        return [_spec_tool(module, spec) for spec in specs]
    exported = getattr(module, "__all__", None)
    names: Sequence[str] = list(vars(module)) if exported is None else exported
    # A name may be written twice, and a tool may have two names.
    values = {id(value): value for value in (getattr(module, name, None) for name in names)}.values()
    tools = [tool for tool in values if isinstance(tool, AgentTool)]
    if exported is None:
        tools = [tool for tool in tools if getattr(tool, "__module__", None) == module.__name__]
    if not tools:
        raise NotAToolError(f"the module {module.__name__} has neither TOOL_SPEC, TOOL_SPECS nor a @tool of its own")
    return [read_agent_tool(tool) for tool in tools]


def _tool_methods(holder: Any) -> list[str]:
    """Return the names of an object's or class's `@tool` methods, in the order of their definition."""
    kind = holder if inspect.isclass(holder) else type(holder)
    names = dict.fromkeys(name for part in reversed(kind.__mro__) for name in vars(part))
    return [name for name in names if isinstance(getattr(kind, name, None), AgentTool)]


def _instance_tools(instance: Any) -> list[RawTool]:
    """Read the `@tool` methods of an instance, or of a class."""
    names = _tool_methods(instance)
    if not names:
        raise NotAToolError(f"an object of {type(instance).__name__} is not a tool and has no @tool methods")
    return [read_agent_tool(getattr(instance, name)) for name in names]


def spec_named(module: Any, name: str) -> Mapping[str, Any] | None:
    """Return the tool spec of a module with this name, if there is one."""
    specs = [getattr(module, "TOOL_SPEC", None), *(getattr(module, "TOOL_SPECS", None) or ())]
    return next((spec for spec in specs if isinstance(spec, Mapping) and spec.get("name") == name), None)


def _spec_tool(module: ModuleType, spec: Any) -> RawTool:
    """Read one tool spec of a module and the function that belongs to it."""
    name = spec.get("name") if isinstance(spec, Mapping) else None
    if not isinstance(name, str) or not name:
        raise NotAToolError(f"the module {module.__name__} has a tool spec without a name")
    function = getattr(module, name, None) or getattr(module, module.__name__.rpartition(".")[2], None)
    if not callable(function) and not isinstance(function, AgentTool):
        raise NotAToolError(f"the module {module.__name__} has a spec for {name!r} but no function of that name")
    invoke = invoke_agent_tool(function) if isinstance(function, AgentTool) else invoke_function(function)
    return RawTool(name, _described(spec, function), invoke, made_of=function)


def read_agent_tool(tool: AgentTool) -> RawTool:
    """Return an object of the SDK's class of tools as it is read here.

    Raises:
        NotAToolError: it is another object, or its spec is none.
    """
    if not isinstance(tool, AgentTool):
        raise NotAToolError(f"a {type(tool).__name__} is not a tool")
    remote = any(kind.__module__.startswith(MCP_ADAPTER) for kind in type(tool).__mro__)
    return RawTool(tool.tool_name, _described(tool.tool_spec, tool), invoke_agent_tool(tool), remote, tool)


def _described(spec: Mapping[str, Any], carrier: Any) -> dict[str, Any]:
    """Return a spec with the words of `@tool_metadata`; those of the spec itself win, as in the manifest."""
    described: Mapping[str, Any] = _normal_spec(spec)
    if (metadata := metadata_of(carrier)) is not None:
        parts = {"annotations": metadata.annotations, "strands_cli": metadata.strands_cli}
        described = with_metadata(described, parts)
    return normal_spec(described)


def _normal_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool spec whose schema is under `inputSchema.json`, whichever of the two forms it has."""
    schema = spec.get("inputSchema")
    schema = {"type": "object", "properties": {}} if schema is None else schema
    inner = schema.get("json", schema) if isinstance(schema, Mapping) else None
    if not isinstance(inner, Mapping):
        raise NotAToolError(f"the inputSchema of {spec.get('name')!r} is not a JSON Schema")
    return {**spec, "inputSchema": {"json": inner}}


# Tools that a program gives as Python objects: read like plugins, described like installed tools, owned by it.


# Named in questions and in the journal where an installed tool has its distribution.
OWNER = "this program"


@dataclass(slots=True)
class ObjectTools:
    """The tools by name, their records for planning, the file of each, and the functions to close them."""

    raw: dict[str, RawTool] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    closers: list[Closer] = field(default_factory=list)

    @property
    def records(self) -> tuple[ToolRecord, ...]:
        """The descriptions that `RunRequest.tools` takes."""
        return tuple(_record(raw) for raw in self.raw.values())

    async def close(self) -> list[str]:
        """Close the objects made for the run; return the problems, one line each."""
        return await close_all(self.closers)


async def read_object_tools(tools: Iterable[Any]) -> ObjectTools:
    """Read objects as tools: results of `@tool`, an `AgentTool`, a module, a provider, a class with `@tool` methods.

    Raises:
        UsageError: one of them is not a tool, or two have one name.
    """
    object_tools = ObjectTools()
    try:
        for thing in tools:
            for raw in await _read(thing, object_tools.closers):
                if raw.name in object_tools.raw:
                    raise UsageError(f"two of the given tools are called '{raw.name}'", fix="rename one of them")
                object_tools.raw[raw.name] = raw
                object_tools.places[raw.name] = code_place_of(thing)
    except BaseException:
        await object_tools.close()
        raise
    return object_tools


def code_place_of(thing: Any) -> str:
    """Return the file whose module made an object, or the name of a module without one (an interactive session)."""
    name = getattr(thing, "__module__", None) or getattr(thing, "__name__", None) or type(thing).__module__
    return getattr(sys.modules.get(name), "__file__", None) or f"the module {name}"


async def _read(thing: Any, closers: list[Closer]) -> list[RawTool]:
    # A plugin may be a function that returns tools. Here one is a forgotten @tool, and must not be called.
    if not isinstance(thing, (AgentTool, ToolProvider)) and inspect.isroutine(thing):
        name = getattr(thing, "__name__", "?")
        message = f"the function '{name}' is not a tool"
        raise UsageError(message, fix="decorate it with @tool (from strands import tool)")
    if isinstance(thing, (str, Mapping)):
        raise UsageError(f"{thing!r} is not a tool", fix="give the object; names belong into the workflow")
    try:
        return await read_tools(thing, {}, closers)
    except NotAToolError as error:
        raise UsageError(f"one of the given tools is none: {error}", fix="decorate it with @tool") from error


def _record(raw: RawTool) -> ToolRecord:
    claims = Claims(raw.spec.get("annotations") or {}, raw.spec.get("strands_cli") or {})
    if raw.is_remote:
        claims = tightened(NO_CLAIMS, claims)
    return ToolRecord(
        name=raw.name,
        distribution=OWNER,
        version=None,
        entry=f"given:{raw.name}",
        entry_name=raw.name,
        module="",
        attribute=None,
        path="",
        kind="object",
        description=raw.spec.get("description"),
        input_schema=raw.spec["inputSchema"]["json"],
        annotations=claims.annotations,
        strands_cli=claims.claims,
    )
