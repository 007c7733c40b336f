"""Tools without a committed manifest, checked as the manifest that a build would make of their code."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from strands_cli.api import Code, Finding, InvalidInput, Manifest, SourceTool, Where, json_object
from strands_cli_dev.plugin_check.manifests import WRITE_MANIFEST, made_document, manifest_entries, render
from strands_cli_dev.plugin_check.packaging import BUILD_HOOK, hook_options
from strands_cli_dev.plugin_check.plugin_project import PluginProject
from strands_cli_dev.plugin_check.tool_definitions import check_declared

NOT_CHECKED = Code(
    "not-checked",
    "A tool was not checked, since it has no manifest, and its source does not show its definition.",
    "Import it: strands plugin check --import",
)


def check_undescribed(
    project: PluginProject, file: Path, tools: Mapping[str, SourceTool], *, imported: bool
) -> tuple[Manifest | None, list[Finding]]:
    """Return the manifest that a build would make of the known facts, and its faults.

    Args:
        project: The plugin.
        file: Where the manifest would be.
        tools: The entry points of its package by name, each with the known facts of its tools.
        imported: Whether they were imported.
    """
    hook = hook_options(project)
    entries_and_tools: list[tuple[dict[str, Any], SourceTool]] = []
    findings: list[Finding] = []
    for name, tool in tools.items():
        if _is_described(tool):
            try:
                entries_and_tools += [(entry, tool) for entry in manifest_entries(project, name, tool)]
            except InvalidInput as error:
                findings += error.findings
        elif hook is not None and not imported:  # without a hook the missing manifest is an error already
            findings.append(_not_checked(project, name, tool, may_import=hook.get("import") is True))
    statement = json_object((hook or {}).get("tools"))
    entries = [{**entry, **json_object(statement.get(entry["name"]))} for entry, _ in entries_and_tools]
    document = render(made_document(project, entries, {}))
    manifest, faults = Manifest.parse(document.encode(), str(file), project.source.name)
    for index, entry in enumerate(manifest.tools if manifest else ()):
        faults += check_declared(entry, str(file), f"/tools/{index}")
    sources = [tool for _, tool in entries_and_tools]
    return manifest if entries_and_tools else None, [*findings, *(_in_code(fault, sources) for fault in faults)]


def _is_described(tool: SourceTool) -> bool:
    members = tool.members if tool.holds_many else (tool,)
    return bool(members) and all(
        None not in (member.name, member.description, member.input_schema) for member in members or ()
    )


def _not_checked(project: PluginProject, name: str, tool: SourceTool, *, may_import: bool) -> Finding:
    message = f"the definition of '{name}' is not literal in its source, so nothing of it was checked"
    fix = f"strands plugin check {shlex.quote(str(project.directory))} --import"
    if not may_import:
        message = f"the definition of '{name}' is not literal in its source, and the build hook may not import it"
        fix = f"[tool.hatch.build.hooks.{BUILD_HOOK}] import = true; or commit it: {WRITE_MANIFEST}"
    return Finding(NOT_CHECKED, message, Where(tool.file, tool.line) if tool.file else None, fix)


def _in_code(finding: Finding, tools: Sequence[SourceTool]) -> Finding:
    """Return a finding about an unwritten manifest at the place of its code."""
    parts = finding.where.pointer.split("/") if finding.where and finding.where.pointer else []
    if parts[1:2] != ["tools"] or len(parts) < 3:
        return finding
    tool = tools[int(parts[2])]
    inner = "/".join(parts[3:])
    message = f"{finding.message} ({inner})" if inner and inner not in finding.message else finding.message
    where = Where(tool.file, tool.line) if tool.file else finding.where
    fix = "correct it in the code" if finding.code == "bad-manifest" else finding.fix
    return replace(finding, message=message, where=where, fix=fix)
