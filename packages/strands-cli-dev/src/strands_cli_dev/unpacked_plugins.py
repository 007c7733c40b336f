"""Uninstalled distributions, as strands-cli-index shows them: their static check, and adoptable tools."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from strands_cli.api import (
    AdoptedFile,
    Finding,
    PluginSource,
    SourceTool,
    StrandsCliError,
    ToolRecord,
    Where,
)
from strands_cli_dev.adoption.candidates import survey
from strands_cli_dev.plugin_check.plugin_project import PluginProject
from strands_cli_dev.plugin_check.whole_plugin import check_plugin


def adoptable_tools(
    name: str, path: Sequence[str], taken_names: Collection[str] = ()
) -> list[tuple[ToolRecord, str | None]]:
    """Return the tools in the source of a distribution that declares none, each with why it cannot be adopted.

    Args:
        name: Its normalised name.
        path: The directories to search, its unpacked folder first. taken: The names of other tools, which none of them
            gets.
    """
    survey_result = survey(name, AdoptedFile(), taken_names, path=path)
    tools = []
    for candidate in survey_result.candidates:
        record = candidate.record(survey_result.tools)
        members = tuple(
            replace(record, name=member.name or "?", **_described(member)) for member in candidate.tool.members or ()
        )
        tools.append((replace(record, members=members) if members else record, candidate.problem))
    return tools


def _described(tool: SourceTool) -> dict[str, Any]:
    names = ("description", "input_schema", "output_schema", "annotations", "strands_cli")
    return {"kind": "function", **{name: getattr(tool, name) for name in names}}


def check_unpacked(name: str, tree: Path) -> list[Finding]:
    """Return the findings of `plugin check` on a distribution without importing it, and without this machine in it.

    Args:
        name: Its normalised name.
        tree: The folder that it is unpacked in.
    """
    source = PluginSource.installed(name, [str(tree)])
    if source is None:
        return []
    names = frozenset(path.name for path in tree.iterdir())
    here = [point for point in source.points if _has_top(point[2], names)]
    findings = [*_missing(source, [point for point in source.points if point not in here])]
    try:
        project = PluginProject(source.declared_in.parent, source.name, replace(source, points=here))
        findings += check_plugin(project, twins=False).findings
    except StrandsCliError as error:
        findings += error.findings
    return findings


def _has_top(value: str, names: Collection[str]) -> bool:
    top = "".join(value.split()).partition(":")[0].partition(".")[0]
    return any(name == top or name.partition(".")[0] == top for name in names)


def _missing(source: PluginSource, points: Sequence[tuple[str, str, str]]) -> Iterator[Finding]:
    for group, name, value in points:
        if group == "strands_cli.tools":
            message = f"the entry point '{name}' names {value[:80]!r}, which the wheel does not have"
            yield Finding(PluginSource.MODULELESS, message, Where(str(source.declared_in)))
