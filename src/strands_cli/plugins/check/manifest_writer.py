"""Generate a plugin project's `strands_tools.json` from its code, and compare it with the committed file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from strands_cli.catalog.definitions.definition_check import MANY
from strands_cli.catalog.definitions.definition_diff import json_line, manifest_differences
from strands_cli.catalog.definitions.manifest import CONTRACT, FILE_NAME, MANIFEST_FORMAT, parse_manifest
from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.catalog.distributions.module_files import Package, manifest_directory, module_file
from strands_cli.catalog.entry_faults import bad_value, fault_in_source, other_name, unreadable
from strands_cli.catalog.source.source_module import SourceError
from strands_cli.catalog.source.source_reader import read_tool
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.source.spec_words import CATALOGUE
from strands_cli.errors import Code, Finding, InvalidInput, Where
from strands_cli.plugins.check.child_import import LoadFailure, load_apart
from strands_cli.plugins.check.project import PluginProject, package_of, split_reference, unusable
from strands_cli.system.atomic_file import write_atomically

WRITE_MANIFEST = "strands plugin manifest --write"
MANIFEST_DRIFT = Code(
    "manifest-drift",
    "A plugin's committed manifest differs from its code.",
    "Generate it again with: strands plugin manifest --write",
)

MAX_DRIFTS = 10
# Where the code does not state these, they are taken from the existing manifest.
AUTHORED = CATALOGUE


def make_manifests(
    project: PluginProject, *, imports: bool = True, import_fix: str | None = None
) -> dict[Path, dict[str, Any]]:
    """Generate the manifest of each top-level package of a project.

    Literal source is read; other code is imported, in a child process, and without `imports` it is refused, with
    `import_fix` as the fix. Fields that the code does not state (`AUTHORED`, `api`) come from the existing manifest.

    Raises:
        InvalidInput: A module is missing, does not import, or defines no tool.
    """
    tools: dict[Path, list[dict[str, Any]]] = {}
    for name, value in sorted(project.entry_points.items()):
        module, attribute = require_reference(project, name, value)
        package = package_of(project, module, name)
        described = read_entry(project, package, module, attribute)
        if not described.complete:
            if not imports:
                message = f"the definition of '{name}' cannot be read from its source: it must be imported"
                file = Path(module_file(package, module) or project.directory)
                raise unusable(message, file, import_fix)
            described = _imported(project, name, module, attribute)
        entries = manifest_entries(name, value, described, project)
        tools.setdefault(manifest_file(package, module), []).extend(entries)
    return {file: made_document(project, found, read_manifest(file)) for file, found in tools.items()}


def check_manifests(project: PluginProject) -> list[Finding]:
    """Return every fault of the committed manifests and every field in which they differ from the code."""
    findings: list[Finding] = []
    for file, wanted in make_manifests(project).items():
        if not file.is_file():
            findings.append(drift("there is no manifest yet", file, ""))
            continue
        findings += parse_manifest(file.read_bytes(), str(file), normalise(project.name))[1]
        findings += [drifted(file, *difference) for difference in manifest_differences(read_manifest(file), wanted)]
    return [with_place(finding, project) for finding in first_drifts(findings)]


def first_drifts(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings, of each tool's differences from the code only the first ones, and the number of the others."""
    counts: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        where = finding.where
        if finding.code != MANIFEST_DRIFT or where is None:
            yield finding
            continue
        same = counts.setdefault((where.file, "/".join((where.pointer or "").split("/")[:3])), [])
        same.append(finding)
        if len(same) <= MAX_DRIFTS:
            yield finding
    for (file, pointer), same in counts.items():
        if len(same) > MAX_DRIFTS:
            yield drift(
                f"the manifest differs from the code in {len(same) - MAX_DRIFTS:,} more fields", Path(file), pointer
            )


def drifted(file: Path, pointer: str, old: Any, new: Any) -> Finding:
    """Return the finding for one field in which a committed manifest differs from the code."""
    return drift(f"the manifest has {json_line(old)}, the code has {json_line(new)}", file, pointer)


def write_manifests(project: PluginProject) -> list[Path]:
    """Write the manifests of a project and return their paths; each file is replaced atomically."""
    written = []
    for file, document in make_manifests(project).items():
        write_atomically(file, render(document).encode(), force=True, mode=0o666)
        written.append(file)
    return written


def render(document: Mapping[str, Any]) -> str:
    """Return the text of a manifest: indented by two spaces, not escaped, one newline at the end."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def read_manifest(file: Path) -> dict[str, Any]:
    """Return a committed manifest, or `{}` if it is missing or cannot be read."""
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
        fault = bad_value(name, normalise(project.name), value, Where(str(project.declared_in)))
        raise InvalidInput("the plugin's manifest cannot be made", findings=[fault])
    return reference


def manifest_file(package: Package, module: str) -> Path:
    """Return the path of the manifest of a module's package."""
    return Path(manifest_directory(package, module) or "") / FILE_NAME


def read_entry(project: PluginProject, package: Package, module: str, attribute: str | None) -> SourceTool:
    """Read an entry point's source.

    Raises:
        InvalidInput: It is not Python, or it surely names no tool.
    """

    def read_module(name: str) -> tuple[str, bytes] | None:
        file = module_file(package, name)
        return (file, Path(file).read_bytes()) if file else None

    try:
        fault = fault_in_source(module, attribute, read_module)
        if fault is None:
            return read_tool(module, attribute, read_module)
    except SourceError as error:
        fault = unreadable(module, error, module_file(package, module) or str(project.directory))
    raise InvalidInput("the plugin's manifest cannot be made", findings=[fault])


def _imported(project: PluginProject, name: str, module: str, attribute: str | None) -> SourceTool:
    try:
        return load_apart(project.source, module, attribute).tool
    except LoadFailure as failure:
        raise unusable(f"the entry point '{name}': {failure}", project.declared_in) from None


def manifest_entries(name: str, value: str, found: SourceTool, project: PluginProject) -> list[dict[str, Any]]:
    """Return the tools of one entry point in the form of the manifest.

    Raises:
        InvalidInput: The entry point has no tool, or its tool has another name.
    """
    reference = "".join(value.split()).partition("[")[0]
    if found.kind in MANY:
        members = found.members or ()
        if not members:
            raise unusable(f"the entry point '{name}' ({reference}) defines no tool", project.directory)
        return [_entry(member.name or "?", reference, replace(member, kind=found.kind)) for member in members]
    if found.name != name:
        where = Where(found.file, found.line) if found.file else Where(str(project.directory))
        raise InvalidInput("the plugin's manifest cannot be made", findings=[other_name(name, found.name, where)])
    return [_entry(name, reference, found)]


def _entry(name: str, reference: str, found: SourceTool) -> dict[str, Any]:
    entry = {
        "name": name,
        "entry": reference,
        "kind": found.kind,
        "description": found.description,
        "input_schema": found.input_schema,
        "output_schema": found.output_schema,
        "annotations": dict(found.annotations),
        "strands_cli": dict(found.strands_cli),
        **found.catalogue,
    }
    return {key: value for key, value in entry.items() if value is not None}


def made_document(project: PluginProject, tools: list[dict[str, Any]], committed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest of these tools, with what the code does not state from the committed one."""
    known = committed.get("tools")
    authored = {
        (tool.get("entry"), tool.get("name")): {key: tool[key] for key in AUTHORED if key in tool}
        for tool in (known if isinstance(known, list) else ())
        if isinstance(tool, dict)
    }
    document = {
        "manifest_version": MANIFEST_FORMAT,
        "api": committed.get("api", {"min": CONTRACT, "max": CONTRACT}),
        "distribution": project.name,
        "tools": [{**tool, **_unstated(authored.get((tool["entry"], tool["name"]), {}), tool)} for tool in tools],
    }
    # Through JSON, so that tuples compare as lists.
    return dict(json.loads(json.dumps(document)))


def _unstated(authored: Mapping[str, Any], tool: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in authored.items() if name not in tool}


def drift(message: str, file: Path, pointer: str) -> Finding:
    """Report a difference between a committed manifest and the code."""
    where = Where(str(file), pointer=pointer)
    return Finding(MANIFEST_DRIFT, message, where, WRITE_MANIFEST)


def with_place(finding: Finding, project: PluginProject) -> Finding:
    """Return a finding whose fix writes the manifest where that can be done: in the project, not in an installation."""
    if finding.fix != WRITE_MANIFEST:
        return finding
    if project.installed is not None:
        return replace(finding, fix=f"in its project, as its author: {WRITE_MANIFEST}; else report it to its author")
    return replace(finding, fix=f"{WRITE_MANIFEST} {shlex.quote(str(project.directory))}")
