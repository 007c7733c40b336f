"""Tools that a model sees by name until it asks for them: `find_tool`, and the definitions that it has loaded."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from strands_cli.errors import did_you_mean
from strands_cli.planning.plan_values import workflow_record
from strands_cli.planning.planned_tool import FINDER, FinderTool
from strands_cli.texts.phrases import shortened
from strands_cli.tools.manifest_check import LoadedTool, declared_spec, loaded_tool
from strands_cli.tools.tool_forms import RawTool

# The most characters that a model sees of the description of a tool that is not loaded.
MAX_LINE = 70

_HEAD = """Loads tools: you have those below too, and can call each once its definition is loaded. \
Name all that you need in one call. They are:"""
_SCHEMA = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "The tools to load."}
    },
    "required": ["names"],
    "additionalProperties": False,
}
_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


class DeferredTools:
    """The tools of one step's agent whose definitions its model does not see at first.

    A definition that is loaded stays, behind all that were there before, so that the bytes before it are the same in
    each request. What is loaded follows from the conversation: from the calls of `find_tool`, and from calls of the
    tools themselves.

    Attributes:
        finder: The tool `find_tool`.
    """

    def __init__(self, offered: Sequence[LoadedTool], shown: Container[str] = ()) -> None:
        deferred = [tool for tool in offered if not is_shown(tool, shown)]
        self._lines = {tool.planned.name: _line(tool) for tool in deferred}
        self._loaded: dict[str, None] = {}
        names = {tool.planned.name for tool in offered}
        name = next(word for word in (FINDER, f"{FINDER}_definition", f"{FINDER}_") if word not in names)
        about = "\n".join([_HEAD, *(f"- {line}" for line in self._lines.values())])
        nothing: dict[str, Any] = {"reads": [], "writes": []}
        record = workflow_record("finder", name, about, _SCHEMA, _READS, resources=nothing)
        spec = declared_spec(record)
        planned = FinderTool(name=name, ref=FINDER, record=record)
        self.finder = loaded_tool(planned, RawTool(name, spec, self._find), spec)

    def specs(self, specs: Sequence[Any], messages: Sequence[Any], late: Container[str]) -> list[Any]:
        """Return the specs of the registry that the model sees: the first ones, those that it has loaded, late ones."""
        for block in (block for message in messages for block in message["content"] if "toolUse" in block):
            self._load(block["toolUse"])
        by_name = {spec["name"]: spec for spec in specs}
        first = [spec for name, spec in by_name.items() if name not in self._lines and name not in late]
        loaded = [by_name[name] for name in self._loaded if name in by_name]
        return [*first, *loaded, *(spec for name, spec in by_name.items() if name in late)]

    def _load(self, tool_use: Mapping[str, Any]) -> None:
        names = _names_in(tool_use["input"]) if tool_use["name"] == self.finder.planned.name else [tool_use["name"]]
        self._loaded |= dict.fromkeys(name for name in names if name in self._lines)

    async def _find(self, tool_use: Mapping[str, Any], *_: Any) -> dict[str, Any]:
        names = list(dict.fromkeys(_names_in(tool_use["input"])))
        known = [name for name in names if name in self._lines]
        lines = [f"Loaded, call them now: {', '.join(known)}"] if known else []
        for name in (name for name in names if name not in self._lines):
            close = did_you_mean(name, self._lines)
            lines.append(f"There is no {name!r} to load" + (f"; did you mean {close}?" if close else "."))
        return {"status": "success" if known else "error", "content": [{"text": "\n".join(lines)}]}


def is_shown(tool: LoadedTool, shown: Container[str]) -> bool:
    """Return whether a model always sees the definition of a tool: one that is named, or that lists the skills."""
    return tool.planned.name in shown or tool.planned.record.kind == "skill"


def _names_in(arguments: Any) -> Iterable[str]:
    names = arguments.get("names") if isinstance(arguments, Mapping) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _line(tool: LoadedTool) -> str:
    """Return a tool in one line: its name, and how its description begins."""
    first, *_ = " ".join(str(tool.spec["description"]).split()).split(". ")
    return f"{tool.planned.name}: {shortened(first.removesuffix('.'), MAX_LINE)}"
