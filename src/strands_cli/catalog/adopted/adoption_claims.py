"""The claims that a project's adoption file may make for a tool: those of its source, and stricter ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.catalog.adopted.adopted_file import AdoptedTool
from strands_cli.catalog.distributions.entry_points import Package
from strands_cli.catalog.from_source import read_source, tools_in
from strands_cli.catalog.manifest import differences, json_line
from strands_cli.catalog.source.source_module import SourceError
from strands_cli.catalog.source.source_tool import SourceTool

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
# A file of 5,000 tools must not make a listing parse as many modules.
MAX_PARSED = 100


class DefinitionsNow:
    """The present definitions in the source of a distribution's tools; each module is parsed once."""

    def __init__(self) -> None:
        self._modules: dict[str, dict[str, SourceTool]] = {}
        self._parsed = 0

    def listed(self, tool: AdoptedTool, package: Package) -> SourceTool | None:
        """Return the tool that the module's source has at the entry; None for none, or if too much was read already."""
        try:
            return self._listed(tool.module, package).get(tool.entry)
        except SourceError:
            return None

    def of(self, tool: AdoptedTool, package: Package) -> dict[str, Any]:
        """Return the definition of a tool; {} where its source cannot be read, or too much was read already."""
        try:
            defined = self._listed(tool.module, package).get(tool.entry) or self._read(tool, package)
        except SourceError:
            return {}
        if defined is None:
            return {}
        definition = defined.definition
        members = definition.get("members", {})
        # A module with several tools, one of which is named by the name in its specification.
        return members[tool.called] if tool.called in members and "members" not in tool.definition else definition

    def _listed(self, module: str, package: Package) -> dict[str, SourceTool]:
        """Return the tools of a module by their entries, each with the input of its signature."""
        if module not in self._modules:
            self._modules[module] = {}
            if self._may_parse():
                self._modules[module] = {tool.entry: tool for tool in tools_in(module, package)}
        return self._modules[module]

    def _read(self, tool: AdoptedTool, package: Package) -> SourceTool | None:
        module, _, attribute = tool.entry.partition(":")
        return read_source(module, attribute or None, package) if self._may_parse() else None

    def _may_parse(self) -> bool:
        self._parsed += 1
        return self._parsed <= MAX_PARSED


def changes_in(tool: AdoptedTool, now: Mapping[str, Any]) -> str:
    """Return in which fields the definition in the source differs from the adopted one, as one line; "" for none."""
    # A field that the source does not show now may be unchanged.
    values = {
        name: value for name, value in now.items() if value is not None and name != "members" and value != "unknown"
    }
    before = {name: tool.definition.get(name, ...) for name in values}
    changes = []
    for name, value in values.items():
        old = {} if before[name] is ... and value == {} else before[name]
        for pointer, was, is_now in differences(old, value, name):
            changes.append(f"{pointer} was {json_line(was)}, is {json_line(is_now)}")
    more = f"; and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    return "; ".join(changes[:_SHOWN]) + more


def proven(tool: AdoptedTool, now: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the definition of a tool that a file of a project adopts, and the fields of the file that do not count.

    The hints and claims are those of the source, and stricter ones in the file. Description and schemas are the
    source's where it shows them.
    """
    definition, ignored = _joined(tool.definition, now)
    members = tool.definition.get("members")
    if isinstance(members, Mapping):
        member_facts = now.get("members", {})
        joined_members = {name: _joined(member, member_facts.get(name, {})) for name, member in members.items()}
        definition["members"] = {name: member_definition for name, (member_definition, _) in joined_members.items()}
        ignored += [f"members/{name}/{field}" for name, (_, fields) in joined_members.items() for field in fields]
    return definition, ignored


def _joined(statement: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    definition, ignored = dict(statement), []
    for name in ("description", "input_schema", "output_schema"):
        if (value := now.get(name)) is not None:
            ignored += [name] if statement.get(name) not in (value, None) else []
            definition[name] = value
    for section in _CLAIMS:
        stated_words, words_now = statement.get(section, {}), now.get(section, {})
        definition[section] = {
            **words_now,
            **{word: stated_words[word] for word in stated_words if _is_stricter(word, stated_words[word])},
        }
        ignored += [f"{section}/{word}" for word in _unproven(stated_words, definition[section])]
    return definition, ignored


def _is_stricter(word: str, value: Any) -> bool:
    return word in _STRICTER and value is _STRICTER[word]


def _unproven(stated_words: Mapping[str, Any], counting: Mapping[str, Any]) -> Iterator[str]:
    yield from (word for word, value in stated_words.items() if word not in counting or counting[word] != value)
