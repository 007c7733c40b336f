"""Tools that a program gives as Python objects: read like plugins, described like installed tools, owned by it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from strands.tools import ToolProvider
from strands.types.tools import AgentTool

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import UsageError
from strands_cli.policy.claims.tool_claims import NO_CLAIMS, Claims, tightened
from strands_cli.tools.forms.tool_forms import Closer, NotAToolError, RawTool, close_all, read_tools

# Named in questions and in the journal where an installed tool has its distribution.
OWNER = "this program"


@dataclass(slots=True)
class ObjectTools:
    """The tools by name, what planning knows of them, the file each came from, and what to close after the run."""

    raw: dict[str, RawTool] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    closers: list[Closer] = field(default_factory=list)

    @property
    def records(self) -> tuple[ToolRecord, ...]:
        """The descriptions that `RunRequest.tools` takes."""
        return tuple(_record(raw) for raw in self.raw.values())

    async def close(self) -> list[str]:
        """Close what was made for the run; return what went wrong, one line each."""
        return await close_all(self.closers)


async def read_object_tools(tools: Iterable[Any]) -> ObjectTools:
    """Read objects as tools: what `@tool` made, an `AgentTool`, a module, a provider, a class with `@tool` methods.

    Raises:
        UsageError: one of them is not a tool, or two have one name.
    """
    found = ObjectTools()
    try:
        for thing in tools:
            for raw in await _read(thing, found.closers):
                if raw.name in found.raw:
                    raise UsageError(f"two of the given tools are called '{raw.name}'", fix="rename one of them")
                found.raw[raw.name] = raw
                found.places[raw.name] = code_place_of(thing)
    except BaseException:
        await found.close()
        raise
    return found


def code_place_of(thing: Any) -> str:
    """Return the file whose module made an object, or the name of a module that has none (an interactive session)."""
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
