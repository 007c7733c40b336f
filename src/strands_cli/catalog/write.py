"""Makes a plugin project's `strands_tools.json` from its code, and says where a committed one has drifted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from strands_cli.catalog.distributions import GROUP, normalise
from strands_cli.catalog.locate import Package, find_package, manifest_directory, module_file
from strands_cli.catalog.manifest import CONTRACT, FILE_NAME, MANIFEST_VERSION, parse_manifest
from strands_cli.catalog.source_reader import SourceError, SourceTool, from_tool_spec, read_tool
from strands_cli.errors import Finding, InvalidInput, Where

IMPORT_SECONDS = 60

# What no code says; kept from the manifest that is there.
AUTHORED = ("requires", "config_schema", "examples", "family", "category", "deprecated")


@dataclass(frozen=True, slots=True)
class PluginProject:
    """A plugin's source tree: its name, its entry points (name -> value) and where its packages lie."""

    directory: Path
    name: str
    entry_points: Mapping[str, str]
    source: Path


def read_project(directory: Path) -> PluginProject:
    """Read the `pyproject.toml` of a plugin.

    Raises:
        InvalidInput: It is missing or malformed, or declares no tool.
    """
    file = directory / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except FileNotFoundError:
        raise _refuse(f"{directory} has no pyproject.toml", file, "name the plugin's project directory") from None
    except (OSError, ValueError) as error:
        raise _refuse(f"pyproject.toml cannot be read: {error}", file) from None
    points = project.get("entry-points", {}).get(GROUP, {})
    if not isinstance(project.get("name"), str) or not points:
        fix = f'add [project.entry-points."{GROUP}"] with a line: name = "package.module"'
        raise _refuse(f"pyproject.toml declares no entry point in the group {GROUP!r}", file, fix)
    source = directory / "src"
    return PluginProject(directory, project["name"], points, source if source.is_dir() else directory)


def make_manifests(project: PluginProject) -> dict[Path, dict[str, Any]]:
    """Make the manifest of each top-level package of a project.

    Literal source is read; what is not literal is imported, in a child process. Fields that no code says
    (`AUTHORED`, `api`) are kept from the manifest that is there.

    Raises:
        InvalidInput: A module is missing, does not import, or holds no tool.
    """
    tools: dict[Path, list[dict[str, Any]]] = {}
    for name, value in sorted(project.entry_points.items()):
        reference = "".join(value.split()).partition("[")[0]
        module, _, attribute = reference.partition(":")
        package = _package(project, module)
        folder = Path(manifest_directory(package, module) or "")
        described = _describe(project, package, module, attribute or None)
        tools.setdefault(folder / FILE_NAME, []).extend(_entries(name, reference, described, project))
    return {file: _document(project, found, read_manifest(file)) for file, found in tools.items()}


def check_manifests(project: PluginProject) -> list[Finding]:
    """Return every fault of the committed manifests and every field in which they differ from the code."""
    findings: list[Finding] = []
    for file, wanted in make_manifests(project).items():
        if not file.is_file():
            findings.append(_drift("there is no manifest yet", file, ""))
            continue
        findings += parse_manifest(file.read_bytes(), str(file), normalise(project.name))[1]
        for pointer, old, new in drift(read_manifest(file), wanted):
            findings.append(_drift(f"the manifest says {_short(old)}, the code says {_short(new)}", file, pointer))
    return findings


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


def drift(committed: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield where two manifests differ; tools are compared by what they are, not by their order in the file."""
    for key in dict.fromkeys([*committed, *wanted]):
        if key != "tools":
            yield from differences(committed.get(key, ...), wanted.get(key, ...), f"/{key}")
    old, new = _by_identity(committed), _by_identity(wanted)
    for identity, (index, tool) in old.items():
        yield from differences(tool, new[identity][1] if identity in new else ..., f"/tools/{index}")
    for identity, (_, tool) in new.items():
        if identity not in old:
            yield "/tools", ..., tool


def differences(old: Any, new: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the JSON pointer and both values of each place in which two documents differ; absent is `...`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from differences(old.get(key, ...), new.get(key, ...), f"{pointer}/{escaped}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, f"{pointer}/{index}")
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield pointer, old, new


def _short(value: Any) -> str:
    if value is ...:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def _package(project: PluginProject, module: str) -> Package:
    listing = {str(project.source): frozenset(os.listdir(project.source))}  # noqa: PTH208 - names, not paths
    package = find_package(module.partition(".")[0], listing, str(project.source))
    place = (package.directory or package.file) if package else None
    if package is None or place is None or not Path(place).is_relative_to(project.source):
        raise _refuse(f"the module '{module}' is not in {project.source}", project.directory / "pyproject.toml")
    if package.directory is None:
        fix = f"make it a package: {package.name}/__init__.py"
        raise _refuse(f"'{module}' is a single file, which cannot carry a manifest", Path(place), fix)
    return package


def _describe(project: PluginProject, package: Package, module: str, attribute: str | None) -> SourceTool:
    def read_module(name: str) -> tuple[str, bytes] | None:
        file = module_file(package, name)
        return (file, Path(file).read_bytes()) if file else None

    try:
        told = read_tool(module, attribute, read_module)
    except SourceError as error:
        file = Path(module_file(package, module) or project.directory)
        raise _refuse(str(error), file, line=error.line) from None
    return told if told.complete else _imported(project, module, attribute)


def _imported(project: PluginProject, module: str, attribute: str | None) -> SourceTool:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "described.json"
        # A process of its own: an import may print, hang, exit, or leave this one changed. -P: not from this directory.
        program = [sys.executable, "-P", "-B", "-m", "strands_cli.catalog.describe_child"]
        command = [*program, str(result), str(project.source.resolve()), module, attribute or ""]
        try:
            done = subprocess.run(  # noqa: S603 - our own module; the plugin's code is what the author asks to run
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=IMPORT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise _refuse(f"importing '{module}' took more than {IMPORT_SECONDS} seconds", project.directory) from None
        if not result.is_file():
            raise _refuse(f"'{module}' cannot be loaded: {_last_line(done)}", project.directory)
        document = json.loads(result.read_text(encoding="utf-8"))
    tools = tuple(from_tool_spec(spec, document["kind"]) for spec in document["tools"])
    if document["kind"] in ("module", "function", "agent_tool"):
        return tools[0]
    return SourceTool(kind=document["kind"], members=tools)


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"it ended the process with code {done.returncode}"


def _entries(name: str, reference: str, told: SourceTool, project: PluginProject) -> list[dict[str, Any]]:
    if told.kind in ("class", "suite", "provider"):
        members = told.members or ()
        if not members:
            raise _refuse(f"the entry point '{name}' ({reference}) holds no tool", project.directory)
        return [_entry(member.name or "?", reference, replace(member, kind=told.kind)) for member in members]
    if told.name != name:
        fix = "give the entry point and the tool the same name"
        raise _refuse(f"the entry point '{name}' loads a tool that calls itself '{told.name}'", project.directory, fix)
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


def _refuse(message: str, file: Path, fix: str | None = None, line: int | None = None) -> InvalidInput:
    finding = Finding("bad-plugin", message, Where(str(file), line), fix)
    return InvalidInput("the plugin's manifest cannot be made", findings=[finding])


def _by_identity(document: Mapping[str, Any]) -> dict[str, tuple[int, Any]]:
    tools = document.get("tools")
    return {
        f"{tool.get('entry')}#{tool.get('name')}": (index, tool)
        for index, tool in enumerate(tools if isinstance(tools, list) else ())
        if isinstance(tool, dict)
    }


def _drift(message: str, file: Path, pointer: str) -> Finding:
    where = Where(str(file), pointer=pointer)
    return Finding("manifest-drift", message, where, "strands plugin manifest --write")
