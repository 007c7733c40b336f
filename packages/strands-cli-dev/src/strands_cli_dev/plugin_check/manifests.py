"""Generate a plugin project's `strands_tools.json` from its code, and compare it with the committed file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from strands_cli.api import Code, Finding, InvalidInput, Manifest, SourceTool, Where, shortened, write_result
from strands_cli_dev.child_import import ImportFailure
from strands_cli_dev.plugin_check.import_checks import import_tool
from strands_cli_dev.plugin_check.plugin_project import PluginProject, read_project, unusable

WRITE_MANIFEST = "strands plugin manifest --write"
MANIFEST_DRIFT = Code(
    "manifest-drift",
    "A plugin's committed manifest differs from its code.",
    "Generate it again with: strands plugin manifest --write",
)

MAX_DRIFTS = 10

Authored = Mapping[str, Mapping[str, Any]]


def make_manifests(
    project: PluginProject, *, imports: bool = True, import_fix: str | None = None
) -> dict[Path, dict[str, Any]]:
    """Generate the manifest of each top-level package of a project.

    Literal source is read; other code is imported, in a child process, and without `imports` it is refused, with
    `import_fix` as the fix. Fields that the code does not state (`Manifest.CATALOGUE`, `api`) come from the existing
    manifest.

    Raises:
        InvalidInput: A module is missing, does not import, or defines no tool.
    """
    tools: dict[Path, list[dict[str, Any]]] = {}
    for name in sorted(project.source.tools):
        described = project.source.read(name)
        if not described.complete:
            if not imports:
                message = f"the definition of '{name}' cannot be read from its source: it must be imported"
                raise unusable(message, project.source.file_of(name), import_fix)
            described = _imported(project, name)
        entries = manifest_entries(project, name, described)
        tools.setdefault(project.source.manifest_file(name), []).extend(entries)
    return {file: made_document(project, its, read_manifest(file)) for file, its in tools.items()}


def check_manifests(project: PluginProject) -> list[Finding]:
    """Return every fault of the committed manifests and every field in which they differ from the code."""
    findings: list[Finding] = []
    for file, manifest in make_manifests(project).items():
        if not file.is_file():
            findings.append(drift("there is no manifest yet", file, ""))
            continue
        findings += Manifest.parse(file.read_bytes(), str(file), project.source.name)[1]
        findings += _drifts(file, manifest)
    return [with_place(finding, project) for finding in first_drifts(findings)]


def write_manifests(project: PluginProject) -> list[Path]:
    """Write the manifests of a project and return their paths; each file is replaced as a whole."""
    written = []
    for file, document in make_manifests(project).items():
        write_result(file, render(document))
        written.append(file)
    return written


# -- for builds


@dataclass(frozen=True, slots=True)
class BuildManifest:
    """One manifest of a build.

    Attributes:
        file: Its path in the source tree.
        path: The same, relative to the directory that the packages are imported from.
        text: The text of the file, generated from the code.
        is_committed: Whether the source tree contains the file.
        problems: Reasons why the build cannot use it: the file is malformed or differs from the code.
    """

    file: Path
    path: Path
    text: str
    is_committed: bool
    problems: tuple[str, ...]


def build_manifests(
    directory: Path, *, imports: bool = False, import_fix: str | None = None, authored: Authored | None = None
) -> list[BuildManifest]:
    """Generate the manifests of a plugin project and compare the committed ones with the code.

    Args:
        directory: The project, with its `pyproject.toml`.
        imports: Whether computed code may be imported, in a child process.
        import_fix: The fix to suggest if code must be imported and `imports` is false.
        authored: Fields of each tool that the code does not state, for packages without a committed manifest.

    Raises:
        InvalidInput: A module is missing, does not import, must be imported without `imports`, or defines no tool; or
            `authored` has an unknown tool, or a field that the code states.
    """
    project = read_project(directory)
    documents = make_manifests(project, imports=imports, import_fix=import_fix)
    names = {tool["name"] for document in documents.values() for tool in document["tools"]}
    unknown = [unusable(problem, project.source.declared_in) for problem in _unknown(authored or {}, names)]
    if unknown:
        findings = [finding for error in unknown for finding in error.findings]
        raise InvalidInput("the plugin's manifest cannot be made", findings=findings)
    return [_built(project, file, document, authored or {}) for file, document in documents.items()]


def _built(project: PluginProject, file: Path, document: Mapping[str, Any], authored: Authored) -> BuildManifest:
    is_committed = file.is_file()
    if not is_committed:
        document = {**document, "tools": [{**tool, **authored.get(tool["name"], {})} for tool in document["tools"]]}
    text = render(document)
    raw = file.read_bytes() if is_committed else text.encode()
    problems = list(Manifest.parse(raw, str(file), project.source.name)[1])
    problems += _drifts(file, document) if is_committed else ()
    return BuildManifest(file, file.relative_to(project.source.root), text, is_committed, tuple(map(str, problems)))


def _unknown(authored: Authored, names: set[str]) -> Iterator[str]:
    """Yield a problem for each unknown tool of `authored`, and for each field that only the code states."""
    for name, fields in authored.items():
        if name not in names:
            yield f"tools.{name}: unknown tool; known: {', '.join(sorted(names))}"
        for field in fields if isinstance(fields, Mapping) else ():
            if field not in Manifest.CATALOGUE:
                allowed = ", ".join(Manifest.CATALOGUE)
                yield f"tools.{name}.{field}: this field comes from the code; allowed here: {allowed}"


# -- documents


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


def _imported(project: PluginProject, name: str) -> SourceTool:
    try:
        return import_tool(project, name)[0]
    except ImportFailure as failure:
        raise unusable(f"the entry point '{name}': {failure}", project.source.declared_in) from None


def plain_reference(value: str) -> str:
    """Return an entry point's value as a manifest has it: without spaces and extras."""
    return "".join(value.split()).partition("[")[0]


def manifest_entries(project: PluginProject, name: str, tool: SourceTool) -> list[dict[str, Any]]:
    """Return the tools of one entry point in the form of the manifest.

    Raises:
        InvalidInput: The entry point has no tool, or its tool has another name.
    """
    reference = plain_reference(project.source.tools[name])
    if tool.holds_many:
        if not tool.members:
            raise unusable(f"the entry point '{name}' ({reference}) defines no tool", project.directory)
        return [_entry(member.name or "?", reference, replace(member, kind=tool.kind)) for member in tool.members]
    where = Where(tool.file, tool.line) if tool.file else Where(str(project.directory))
    project.source.require_name(name, tool.name, where)
    return [_entry(name, reference, tool)]


def _entry(name: str, reference: str, tool: SourceTool) -> dict[str, Any]:
    entry = {"name": name, "entry": reference, **tool.definition}
    return {key: value for key, value in entry.items() if value is not None and key != "members"}


def made_document(project: PluginProject, tools: list[dict[str, Any]], committed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest of these tools, with the fields that the code does not state from the committed one."""
    old_tools = committed.get("tools")
    authored = {
        (tool.get("entry"), tool.get("name")): {key: tool[key] for key in Manifest.CATALOGUE if key in tool}
        for tool in (old_tools if isinstance(old_tools, list) else ())
        if isinstance(tool, dict)
    }
    whole = [{**tool, **_unstated(authored.get((tool["entry"], tool["name"]), {}), tool)} for tool in tools]
    # Through JSON, so that tuples compare as lists.
    return dict(json.loads(json.dumps(Manifest.document(project.name, whole, committed.get("api")))))


def _unstated(authored: Mapping[str, Any], tool: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in authored.items() if name not in tool}


# -- differences


def _drifts(file: Path, manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each field in which a committed manifest differs from the code."""
    committed = read_manifest(file)
    for key in dict.fromkeys([*committed, *manifest]):
        if key != "tools":
            yield from drifted(committed.get(key, ...), manifest.get(key, ...), file, f"/{key}")
    old, new = by_identity(committed), by_identity(manifest)
    for identity, (index, tool) in old.items():
        yield from drifted(tool, new[identity][1] if identity in new else ..., file, f"/tools/{index}")
    for identity, (_, tool) in new.items():
        if identity not in old:
            yield from drifted(..., tool, file, "/tools")


def drifted(old: Any, new: Any, file: Path, pointer: str) -> Iterator[Finding]:
    """Yield a finding for each difference between a value of a committed manifest and that of the code."""
    for pointer_in_manifest, was, now in Manifest.differences(old, new, pointer):
        yield drift(f"the manifest has {_json_line(was)}, the code has {_json_line(now)}", file, pointer_in_manifest)


def by_identity(document: Mapping[str, Any]) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return a manifest's tools as `entry#name` -> (index, tool)."""
    tools = document.get("tools")
    return {
        f"{tool.get('entry')}#{tool.get('name')}": (index, tool)
        for index, tool in enumerate(tools if isinstance(tools, list) else ())
        if isinstance(tool, dict)
    }


def _json_line(value: Any) -> str:
    return "nothing" if value is ... else shortened(json.dumps(value, ensure_ascii=False), 77)


def drift(message: str, file: Path, pointer: str) -> Finding:
    """Report a difference between a committed manifest and the code."""
    return Finding(MANIFEST_DRIFT, message, Where(str(file), pointer=pointer), WRITE_MANIFEST)


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
            message = f"the manifest differs from the code in {len(same) - MAX_DRIFTS:,} more fields"
            yield drift(message, Path(file), pointer)


def with_place(finding: Finding, project: PluginProject) -> Finding:
    """Return a finding whose fix writes the manifest where that can be done: in the project, not in an installation."""
    if finding.fix != WRITE_MANIFEST:
        return finding
    if project.is_installed:
        return replace(finding, fix=f"in its project, as its author: {WRITE_MANIFEST}; else report it to its author")
    return replace(finding, fix=f"{WRITE_MANIFEST} {shlex.quote(str(project.directory))}")
