"""Makes a plugin project's `strands_tools.json` from its code, and says where a committed one has drifted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from strands_cli.catalog import (
    CONTRACT,
    FILE_NAME,
    MANIFEST_VERSION,
    MANY,
    Package,
    SourceError,
    SourceTool,
    drift,
    manifest_directory,
    module_file,
    normalise,
    parse_manifest,
    read_tool,
    shortened,
)
from strands_cli.errors import Finding, Where
from strands_cli.plugins.check.child_import import LoadFailure, load_apart
from strands_cli.plugins.check.project import PluginProject, package_of, split_reference, unusable

# What no code says; kept from the manifest that is there.
AUTHORED = ("requires", "config_schema", "examples", "family", "category", "deprecated")


def make_manifests(
    project: PluginProject, *, imports: bool = True, import_fix: str | None = None
) -> dict[Path, dict[str, Any]]:
    """Make the manifest of each top-level package of a project.

    Literal source is read; what is not literal is imported, in a child process. Fields that no code says
    (`AUTHORED`, `api`) are kept from the manifest that is there. Without `imports` what is not literal is refused, with
    `import_fix` as the fix.

    Raises:
        InvalidInput: A module is missing, does not import, or holds no tool.
    """
    tools: dict[Path, list[dict[str, Any]]] = {}
    for name, value in sorted(project.entry_points.items()):
        module, attribute = require_reference(project, name, value)
        package = package_of(project, module)
        described = read_entry(project, package, module, attribute)
        if not described.complete:
            if not imports:
                message = f"what '{name}' is cannot be read from its source: it must be imported"
                file = Path(module_file(package, module) or project.directory)
                raise unusable(message, file, import_fix)
            described = _imported(project, module, attribute)
        entries = manifest_entries(name, value, described, project)
        tools.setdefault(manifest_file(package, module), []).extend(entries)
    return {file: _document(project, found, read_manifest(file)) for file, found in tools.items()}


def check_manifests(project: PluginProject) -> list[Finding]:
    """Return every fault of the committed manifests and every field in which they differ from the code."""
    findings: list[Finding] = []
    for file, wanted in make_manifests(project).items():
        if not file.is_file():
            findings.append(_drift("there is no manifest yet", file, ""))
            continue
        findings += parse_manifest(file.read_bytes(), str(file), normalise(project.name))[1]
        findings += [drifted(file, *difference) for difference in drift(read_manifest(file), wanted)]
    return findings


def drifted(file: Path, pointer: str, old: Any, new: Any) -> Finding:
    """Return the finding for one field in which a committed manifest differs from the code."""
    return _drift(f"the manifest says {shortened(old)}, the code says {shortened(new)}", file, pointer)


def write_manifests(project: PluginProject) -> list[Path]:
    """Write the manifests of a project and return their paths; a file is replaced whole or not at all."""
    written = []
    for file, document in make_manifests(project).items():
        draft = file.with_name(f"{file.name}.{os.getpid()}.tmp")
        draft.write_text(render(document), encoding="utf-8", newline="\n")
        draft.replace(file)
        written.append(file)
    return written


def render(document: Mapping[str, Any]) -> str:
    """Return a manifest as it is committed: two spaces, readable text, one newline at the end."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def read_manifest(file: Path) -> dict[str, Any]:
    """Return a committed manifest, or `{}` where there is none that can be read."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def require_reference(project: PluginProject, name: str, value: str) -> tuple[str, str | None]:
    """Return the module and the attribute of an entry point.

    Raises:
        InvalidInput: Its value is not `module` or `module:attribute`.
    """
    reference = split_reference(value)
    if reference is None:
        message = f"the entry point '{name}' is not 'module' or 'module:attribute': {value[:80]!r}"
        raise unusable(message, project.declared_in, code="bad-entry-point")
    return reference


def manifest_file(package: Package, module: str) -> Path:
    """Return where the manifest of a module's package belongs."""
    return Path(manifest_directory(package, module) or "") / FILE_NAME


def read_entry(project: PluginProject, package: Package, module: str, attribute: str | None) -> SourceTool:
    """Read an entry point's source.

    Raises:
        InvalidInput: It is not Python.
    """

    def read_module(name: str) -> tuple[str, bytes] | None:
        file = module_file(package, name)
        return (file, Path(file).read_bytes()) if file else None

    try:
        return read_tool(module, attribute, read_module)
    except SourceError as error:
        file = Path(module_file(package, module) or project.directory)
        raise unusable(str(error), file, line=error.line) from None


def _imported(project: PluginProject, module: str, attribute: str | None) -> SourceTool:
    try:
        return load_apart(project.source, module, attribute).told
    except LoadFailure as failure:
        raise unusable(str(failure), project.directory) from None


def manifest_entries(name: str, value: str, told: SourceTool, project: PluginProject) -> list[dict[str, Any]]:
    """Return the tools of one entry point as a manifest has them.

    Raises:
        InvalidInput: There is no tool, or it has another name than the entry point.
    """
    reference = "".join(value.split()).partition("[")[0]
    if told.kind in MANY:
        members = told.members or ()
        if not members:
            raise unusable(f"the entry point '{name}' ({reference}) holds no tool", project.directory)
        return [_entry(member.name or "?", reference, replace(member, kind=told.kind)) for member in members]
    if told.name != name:
        fix = "give the entry point and the tool the same name"
        raise unusable(f"the entry point '{name}' loads a tool that calls itself '{told.name}'", project.directory, fix)
    return [_entry(name, reference, told)]


def _entry(name: str, reference: str, told: SourceTool) -> dict[str, Any]:
    entry = {
        "name": name,
        "entry": reference,
        "kind": told.kind,
        "description": told.description,
        "input_schema": told.input_schema,
        "output_schema": told.output_schema,
        "annotations": dict(told.annotations),
        "strands_cli": dict(told.strands_cli),
    }
    return {key: value for key, value in entry.items() if value is not None}


def _document(project: PluginProject, tools: list[dict[str, Any]], committed: Mapping[str, Any]) -> dict[str, Any]:
    known = committed.get("tools")
    authored = {
        (tool.get("entry"), tool.get("name")): {key: tool[key] for key in AUTHORED if key in tool}
        for tool in (known if isinstance(known, list) else ())
        if isinstance(tool, dict)
    }
    document = {
        "manifest_version": MANIFEST_VERSION,
        "api": committed.get("api", {"min": CONTRACT, "max": CONTRACT}),
        "distribution": project.name,
        "tools": [{**tool, **authored.get((tool["entry"], tool["name"]), {})} for tool in tools],
    }
    # Through JSON, so that tuples and the like compare as what they become.
    return dict(json.loads(json.dumps(document)))


def _drift(message: str, file: Path, pointer: str) -> Finding:
    where = Where(str(file), pointer=pointer)
    return Finding("manifest-drift", message, where, "strands plugin manifest --write")
