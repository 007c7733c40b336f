"""What a project's adoption file may say of a tool: what its source says, and what makes it stricter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.catalog.adopted.adopted_file import AdoptedTool
from strands_cli.catalog.adopted.adopted_modules import definition_of
from strands_cli.catalog.definitions import differences, json_line
from strands_cli.catalog.files import Package
from strands_cli.catalog.from_source import read_source, reader_of
from strands_cli.catalog.source import SourceError, SourceTool, tools_of_module

# Words that only make a tool stricter, which any file may say.
_STRICTER: Mapping[str, bool] = {
    "requires_confirmation": True,
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
_CLAIMS = ("annotations", "strands_cli")
_SHOWN = 3


def definition_now(tool: AdoptedTool, package: Package) -> dict[str, Any]:
    """Return what the source of an adopted tool says of it now; {} where it cannot be read."""
    module, _, attribute = tool.entry.partition(":")
    try:
        found = definition_of(_found(tool, package) or read_source(module, attribute or None, package))
    except SourceError:
        return {}
    members = found.get("members", {})
    # A module with several tools, one of which is named by the name in its specification.
    return members[tool.called] if tool.called in members and "members" not in tool.definition else found


def _found(tool: AdoptedTool, package: Package) -> SourceTool | None:
    """Return the tool as the module that defines it shows it, with the input of its signature."""
    listed = tools_of_module(tool.module, reader_of(package))
    return next((found.tool for found in listed if found.entry == tool.entry), None)


def changes_in(tool: AdoptedTool, package: Package) -> str:
    """Return in which fields the definition in the source differs from the adopted one, as one line; "" for none."""
    now = definition_now(tool, package)
    # What the source does not show now may be as it was.
    known = {
        name: value for name, value in now.items() if value is not None and name != "members" and value != "unknown"
    }
    before = {name: tool.definition.get(name, ...) for name in known}
    found = []
    for name, value in known.items():
        old = {} if before[name] is ... and value == {} else before[name]
        for pointer, was, is_now in differences(old, value, name):
            found.append(f"{pointer} was {json_line(was)}, is {json_line(is_now)}")
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more


def proven(tool: AdoptedTool, package: Package) -> tuple[dict[str, Any], list[str]]:
    """Return the definition of a tool that a file of a project adopts, and the fields of the file that do not count.

    The hints and claims are those of the source, and what makes it stricter in the file. Description and schemas are
    the source's where it shows them.
    """
    now = definition_now(tool, package)
    definition, ignored = _joined(tool.definition, now)
    members = tool.definition.get("members")
    if isinstance(members, Mapping):
        known = now.get("members", {})
        joined = {name: _joined(member, known.get(name, {})) for name, member in members.items()}
        definition["members"] = {name: one for name, (one, _) in joined.items()}
        ignored += [f"members/{name}/{field}" for name, (_, fields) in joined.items() for field in fields]
    return definition, ignored


def _joined(stated: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    definition, ignored = dict(stated), []
    for name in ("description", "input_schema", "output_schema"):
        if (value := now.get(name)) is not None:
            ignored += [name] if stated.get(name) not in (value, None) else []
            definition[name] = value
    for place in _CLAIMS:
        said, shown = stated.get(place, {}), now.get(place, {})
        definition[place] = {**shown, **{word: said[word] for word in said if _is_stricter(word, said[word])}}
        ignored += [f"{place}/{word}" for word in _unproven(said, definition[place])]
    return definition, ignored


def _is_stricter(word: str, value: Any) -> bool:
    return word in _STRICTER and value is _STRICTER[word]


def _unproven(said: Mapping[str, Any], counting: Mapping[str, Any]) -> Iterator[str]:
    yield from (word for word, value in said.items() if word not in counting or counting[word] != value)
