"""What an index states of one wheel: its tools, workflows, agents and skills, and the findings of the static check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from strands_cli.catalog.adopted.adopted_file import AdoptedFile
from strands_cli.catalog.catalog import Catalog, join_records, scan_tools
from strands_cli.catalog.distributions.dist_info import open_distribution
from strands_cli.catalog.distributions.entry_points import Scan, normalise, read_entry_points, read_header
from strands_cli.catalog.entry_faults import MISSING_MODULE
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Finding, StrandsCliError, Where
from strands_cli.hooks.hookspecs import GROUP as HOOKS
from strands_cli.indexes.search_file import GROUPS
from strands_cli.planning.sentences.permission_phrases import describe_permissions
from strands_cli.plugins.adopt.candidates import survey
from strands_cli.plugins.check.project import PluginProject, installed_parts
from strands_cli.plugins.check.whole_plugin import check_plugin
from strands_cli.plugins.index.wheel_tree import WheelTree
from strands_cli.texts.phrases import counted

MAX_PACKAGED = 1_000
_SDK = "strands-agents"
_SHOWN = (
    *("description", "kind", "family", "category", "deprecated", "input_schema", "output_schema", "annotations"),
    *("strands_cli", "requires", "config_schema", "examples"),
)
_SUFFIXES = (".yaml", ".yml")


def describe_wheel(wheel: WheelTree) -> dict[str, Any]:
    """Return what the index states of a wheel besides its file, importing nothing; the same on every machine."""
    records, seen = scan_tools([str(wheel.tree)])
    own = [one for one in records if one.distribution == wheel.name and one.path == str(wheel.tree)]
    tools = [_tool(one, wheel) for one in own if _is_inside(one, wheel)]
    dist_info = str(wheel.dist_info)
    required = sorted(open_distribution(dist_info).requires or ())
    hooks = sorted(point.name for point in read_entry_points(dist_info, wheel.name, Scan(), HOOKS))
    packaged = {group: _packaged(wheel, group) for group in GROUPS}
    declares = bool(own or hooks or any(packaged.values()))
    adopt = not declares and any(_name_in(text) == _SDK for text in required)
    if adopt:
        tools = list(_adoptable(wheel, join_records(records, seen)))
    return {
        "summary": " ".join((read_header(dist_info, "Summary") or "").split())[:500],
        "requires_python": read_header(dist_info, "Requires-Python"),
        "requires": required,
        "licence": _one_line(read_header(dist_info, "License-Expression") or read_header(dist_info, "License")),
        "tools": sorted(tools, key=lambda tool: str(tool["name"])),
        "hooks": hooks,
        **packaged,
        "adopt": adopt,
        "check": _check(wheel) if own else None,
    }


def _adoptable(wheel: WheelTree, catalog: Catalog) -> Iterator[dict[str, Any]]:
    """Yield the tools of a wheel that declares none, with the names that they have where nothing else is installed."""
    found = survey(wheel.name, catalog, AdoptedFile())
    for one in found.candidates:
        record = one.record(found.found)
        members = tuple(
            replace(record, name=member.name or "?", **_described(member)) for member in one.tool.members or ()
        )
        tool = _tool(replace(record, members=members) if members else record, wheel)
        yield {**tool, "broken": _relative(one.problem, wheel.tree) if one.problem else None}


def _described(tool: SourceTool) -> dict[str, Any]:
    names = ("description", "input_schema", "output_schema", "annotations", "strands_cli")
    return {"kind": "function", **{name: getattr(tool, name) for name in names}}


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
    shown = {name: getattr(record, name) for name in _SHOWN}
    shown["examples"] = list(record.examples)
    reason = record.reason if record.status == "broken" else None
    if reason and record.location is None:  # the reason is about this machine's current folder too
        reason = f"the wheel has no module '{record.module}'"
    return {
        "name": record.ref_name,
        **{name: dict(value) if isinstance(value, Mapping) else value for name, value in shown.items()},
        "entry": record.entry,
        "described_by": "manifest" if record.manifest else "source",
        "permissions": describe_permissions(record),
        "broken": _relative(reason, wheel.tree) if reason else None,
        "members": None if record.members is None else [_tool(member, wheel) for member in record.members],
    }


def _packaged(wheel: WheelTree, group: str) -> list[dict[str, Any]]:
    """Return the folders of an entry-point group, with the names of the files or folders that a person names."""
    points = read_entry_points(str(wheel.dist_info), wheel.name, Scan(), f"strands_cli.{group}")
    return [
        {"name": point.name, "folder": point.value, "files": _names_in(wheel, point.value, group)}
        for point in sorted(points, key=lambda point: point.name)
    ]


def _names_in(wheel: WheelTree, value: str, group: str) -> list[str]:
    package, _, inner = "".join(value.split()).partition(":")
    parts = [*package.split("."), *(part for part in inner.split("/") if part)]
    folder = wheel.tree.joinpath(*parts)
    if not all(part.strip(".") and part.isprintable() for part in parts) or not folder.is_dir():
        return []
    if group == "skills":
        found = {path.parent.name for path in folder.glob("*/SKILL.md")} | (
            {folder.name} if (folder / "SKILL.md").is_file() else set()
        )
    else:
        found = {path.stem for path in folder.iterdir() if path.suffix in _SUFFIXES}
    return sorted(found)[:MAX_PACKAGED]


def _check(wheel: WheelTree) -> dict[str, Any]:
    """Return what the static part of `plugin check` says, without this machine in it."""
    seen = Scan()
    points = {point.name: point.value for point in read_entry_points(str(wheel.dist_info), wheel.name, seen)}
    names = frozenset(path.name for path in wheel.tree.iterdir())
    here = {name: value for name, value in points.items() if _has_top(value, names)}
    parts = tuple(installed_parts(str(wheel.dist_info), wheel.name, seen))
    project = PluginProject(
        wheel.dist_info, wheel.name, here, wheel.tree, installed={str(wheel.tree): names}, parts=parts
    )
    findings = [*seen.findings, *(_missing(name, points[name], project) for name in points if name not in here)]
    try:
        findings += check_plugin(project, twins=False).findings
    except StrandsCliError as error:
        findings += error.findings
    shown = sorted((_shown(finding, wheel.tree) for finding in findings), key=lambda one: tuple(map(str, one.values())))
    counts = {kind: sum(one["severity"] == kind for one in shown) for kind in ("error", "warning")}
    return {"errors": counts["error"], "warnings": counts["warning"], "findings": shown}


def _has_top(value: str, names: Iterable[str]) -> bool:
    top = "".join(value.split()).partition(":")[0].partition(".")[0]
    return any(name == top or name.partition(".")[0] == top for name in names)


def _missing(name: str, value: str, project: PluginProject) -> Finding:
    message = f"the entry point '{name}' names {value[:80]!r}, which the wheel does not have"
    return Finding(MISSING_MODULE, message, Where(str(project.declared_in)))


def _shown(finding: Finding, tree: Path) -> dict[str, Any]:
    found = finding.as_dict()
    return {key: _relative(value, tree) if isinstance(value, str) else value for key, value in found.items()}


def _relative(text: str, tree: Path) -> str:
    return text.replace(f"{tree}{os.sep}", "").replace(str(tree), ".")


def check_phrase(check: Mapping[str, Any] | None) -> str:
    """Return the result of the static check in a few words."""
    if check is None:
        return "not checked"
    counts = [counted(check[f"{kind}s"], kind) for kind in ("error", "warning") if check[f"{kind}s"]]
    return ", ".join(counts) or "no problems"
