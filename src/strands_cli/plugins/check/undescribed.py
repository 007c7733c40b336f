"""Tools without a committed manifest, checked as the manifest that a build would make of their code."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from strands_cli.catalog.definitions.definition_check import MANY
from strands_cli.catalog.definitions.manifest import BAD_MANIFEST, Manifest, parse_manifest
from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.errors import Code, Finding, InvalidInput, Where
from strands_cli.plugins.check.manifest_writer import WRITE_MANIFEST, made_document, manifest_entries, render
from strands_cli.plugins.check.packaging import BUILD_HOOK, hook_options
from strands_cli.plugins.check.project import PluginProject
from strands_cli.plugins.check.tool_definitions import check_declared
from strands_cli.texts.canonical_json import json_object

NOT_CHECKED = Code(
    "not-checked",
    "A tool has no manifest, and its source does not show its definition, so nothing of it was checked.",
    "Check it by importing it: strands plugin check --import",
)


class Undescribed(NamedTuple):
    """An entry point whose package has no manifest: its name, its value, and what is known of its tools."""

    name: str
    value: str
    found: SourceTool


def check_undescribed(
    project: PluginProject, file: Path, points: Sequence[Undescribed], *, imported: bool
) -> tuple[Manifest | None, list[Finding]]:
    """Return the manifest that a build would make of what is known, and what is wrong with it.

    Args:
        project: The plugin.
        file: Where the manifest would be.
        points: The entry points of its package.
        imported: Whether they were imported.
    """
    hook = hook_options(project)
    made: list[tuple[dict[str, Any], SourceTool]] = []
    findings: list[Finding] = []
    for name, value, found in points:
        if _is_described(found):
            try:
                made += [(entry, found) for entry in manifest_entries(name, value, found, project)]
            except InvalidInput as error:
                findings += error.findings
        elif hook is not None and not imported:  # without a hook the missing manifest is an error already
            findings.append(_not_checked(project, name, found, may_import=hook.get("import") is True))
    stated = json_object((hook or {}).get("tools"))
    tools = [{**entry, **json_object(stated.get(entry["name"]))} for entry, _ in made]
    document = render(made_document(project, tools, {}))
    manifest, faults = parse_manifest(document.encode(), str(file), normalise(project.name))
    for index, tool in enumerate(manifest.tools if manifest else ()):
        faults += check_declared(tool, str(file), f"/tools/{index}")
    sources = [found for _, found in made]
    return manifest if made else None, [*findings, *(_in_code(one, sources) for one in faults)]


def _is_described(found: SourceTool) -> bool:
    members = found.members if found.kind in MANY else (found,)
    return bool(members) and all(None not in (one.name, one.description, one.input_schema) for one in members or ())


def _not_checked(project: PluginProject, name: str, found: SourceTool, *, may_import: bool) -> Finding:
    message = f"the definition of '{name}' is not literal in its source, so nothing of it was checked"
    fix = f"strands plugin check {shlex.quote(str(project.directory))} --import"
    if not may_import:
        message = f"the definition of '{name}' is not literal in its source, and the build hook may not import it"
        fix = f"[tool.hatch.build.hooks.{BUILD_HOOK}] import = true; or commit it: {WRITE_MANIFEST}"
    return Finding(NOT_CHECKED, message, Where(found.file, found.line) if found.file else None, fix)


def _in_code(finding: Finding, tools: Sequence[SourceTool]) -> Finding:
    """Return a finding about a manifest that is in no file at the place of the code that it is made of."""
    parts = finding.where.pointer.split("/") if finding.where and finding.where.pointer else []
    if parts[1:2] != ["tools"] or len(parts) < 3:
        return finding
    found = tools[int(parts[2])]
    inner = "/".join(parts[3:])
    message = f"{finding.message} ({inner})" if inner and inner not in finding.message else finding.message
    where = Where(found.file, found.line) if found.file else finding.where
    fix = "correct it in the code" if finding.code == BAD_MANIFEST else finding.fix
    return replace(finding, message=message, where=where, fix=fix)
