"""The document of one wheel in an index: its tools, workflows, agents and skills, and the static check's findings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strands_cli.api import Finding, ToolRecord, UnpackedPlugin, counted, describe_permissions
from strands_cli_dev import adoptable_tools, check_unpacked
from strands_cli_index.building.wheel_tree import WheelTree
from strands_cli_index.reading.search_file import GROUPS
from strands_cli_index.wheel_facts import entry_points_of, folder_parts, names_in, normalise, read_header, requires_of

_SDK = "strands-agents"
_SHOWN = (
    *("description", "kind", "family", "category", "deprecated", "input_schema", "output_schema", "annotations"),
    *("strands_cli", "requires", "config_schema", "examples"),
)


def describe_wheel(wheel: WheelTree) -> dict[str, Any]:
    """Return the index's document of a wheel besides its file, importing nothing; the same on every machine."""
    plugin = UnpackedPlugin(wheel.name, wheel.tree, wheel.dist_info, alone=True)
    own = plugin.records
    tools = [_tool(record, wheel) for record in own if _is_inside(record, wheel)]
    required = sorted(requires_of(wheel.dist_info))
    packaged = {group: _packaged(wheel, group) for group in GROUPS}
    declares = bool(own or plugin.hooks or any(packaged.values()))
    adopt = not declares and any(_name_in(text) == _SDK for text in required)
    if adopt:
        tools = [
            {**_tool(record, wheel), "broken": _relative(problem, wheel.tree) if problem else None}
            for record, problem in adoptable_tools(plugin.name, plugin.path)
        ]
    licence = read_header(wheel.dist_info, "License-Expression") or read_header(wheel.dist_info, "License")
    return {
        "summary": " ".join((read_header(wheel.dist_info, "Summary") or "").split())[:500],
        "requires_python": read_header(wheel.dist_info, "Requires-Python"),
        "requires": required,
        "licence": _one_line(licence),
        "tools": sorted(tools, key=lambda tool: str(tool["name"])),
        "hooks": list(plugin.hooks),
        **packaged,
        "adopt": adopt,
        "check": _check(plugin) if own else None,
    }


def is_plugin(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry has anything for this program; others are only files that plugins require."""
    return bool(entry["tools"] or entry["hooks"] or entry["adopt"] or any(entry[group] for group in GROUPS)) or (
        entry["check"] is not None
    )


def _one_line(text: str | None) -> str | None:
    return " ".join(text.split())[:200] if text else None


def _name_in(requirement: str) -> str:
    end = next((index for index, char in enumerate(requirement) if not (char.isalnum() or char in "-_.")), None)
    return normalise(requirement[:end])


def _is_inside(record: ToolRecord, wheel: WheelTree) -> bool:
    """Return whether a tool's module is in the wheel; finders of this machine may know another of that name."""
    return record.location is None or record.location.startswith(f"{wheel.tree}{os.sep}")


def _tool(record: ToolRecord, wheel: WheelTree) -> dict[str, Any]:
    fields = {name: getattr(record, name) for name in _SHOWN}
    fields["examples"] = list(record.examples)
    reason = record.reason if record.status == "broken" else None
    if reason and record.location is None:  # the reason is about this machine's current folder too
        reason = f"the wheel has no module '{record.module}'"
    return {
        "name": record.ref_name,
        **{name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()},
        "entry": record.entry,
        "described_by": "manifest" if record.manifest else "source",
        "permissions": describe_permissions(record),
        "broken": _relative(reason, wheel.tree) if reason else None,
        "members": None if record.members is None else [_tool(member, wheel) for member in record.members],
    }


def _packaged(wheel: WheelTree, group: str) -> list[dict[str, Any]]:
    """Return the folders of an entry-point group, with the names of the files or folders that a person names."""
    points = entry_points_of(wheel.dist_info, f"strands_cli.{group}")
    return [
        {"name": point.name, "folder": point.value, "files": _files_of(wheel, point.value, group)}
        for point in sorted(points, key=lambda point: point.name)
    ]


def _files_of(wheel: WheelTree, value: str, group: str) -> list[str]:
    parts = folder_parts(value)
    return names_in(wheel.tree.joinpath(*parts), group) if parts else []


def _check(plugin: UnpackedPlugin) -> dict[str, Any]:
    """Return the findings of the static part of `plugin check`, without this machine in it."""
    findings = [_shown(finding, plugin.tree) for finding in check_unpacked(plugin.name, plugin.tree)]
    ordered = sorted(findings, key=lambda row: tuple(map(str, row.values())))
    counts = {kind: sum(row["severity"] == kind for row in ordered) for kind in ("error", "warning")}
    return {"errors": counts["error"], "warnings": counts["warning"], "findings": ordered}


def _shown(finding: Finding, tree: Path) -> dict[str, Any]:
    document = finding.as_dict()
    return {key: _relative(value, tree) if isinstance(value, str) else value for key, value in document.items()}


def _relative(text: str, tree: Path) -> str:
    return text.replace(f"{tree}{os.sep}", "").replace(str(tree), ".")


def check_phrase(check: Mapping[str, Any] | None) -> str:
    """Return the result of the static check in a few words."""
    if check is None:
        return "not checked"
    counts = [counted(check[f"{kind}s"], kind) for kind in ("error", "warning") if check[f"{kind}s"]]
    return ", ".join(counts) or "no problems"
