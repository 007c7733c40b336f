"""The tools of a distribution that declares none and is not installed: what a person could adopt from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strands_cli.catalog.adopted.adopted_file import AdoptedFile
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.plugins.adopt.candidates import survey
from strands_cli.plugins.install.unpacked_plugin import UnpackedPlugin


def adoptable_tools(plugin: UnpackedPlugin) -> list[tuple[ToolRecord, str | None]]:
    """Return the tools in the source of a distribution, each with why it cannot be adopted; None if it can."""
    if plugin.name not in plugin.catalog.seen.records:
        return []
    found = survey(plugin.name, plugin.catalog, AdoptedFile())
    tools = []
    for candidate in found.candidates:
        record = candidate.record(found.found)
        members = tuple(
            replace(record, name=member.name or "?", **_described(member)) for member in candidate.tool.members or ()
        )
        tools.append((replace(record, members=members) if members else record, candidate.problem))
    return tools


def _described(tool: SourceTool) -> dict[str, Any]:
    names = ("description", "input_schema", "output_schema", "annotations", "strands_cli")
    return {"kind": "function", **{name: getattr(tool, name) for name in names}}
