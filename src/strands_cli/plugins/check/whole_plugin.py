"""Check a whole plugin, as a source tree or installed; it is imported only on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.definitions.definition_check import MANY, TOOL_NAME
from strands_cli.catalog.definitions.definition_diff import by_identity, differences, json_line
from strands_cli.catalog.definitions.manifest import (
    CONTRACT,
    MANIFEST_UNTRUE,
    MANIFEST_VERSION,
    Manifest,
    parse_manifest,
)
from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.catalog.distributions.module_files import Package, module_file
from strands_cli.catalog.entry_faults import bad_name
from strands_cli.catalog.source.source_tool import SourceTool
from strands_cli.catalog.tool_record import TOOL_CONFLICT
from strands_cli.default_parts import HOOKS, PART_GROUPS
from strands_cli.errors import Code, Finding, InvalidInput, Where, has_errors
from strands_cli.plugins.check.effects_of_import import check_import
from strands_cli.plugins.check.manifest_writer import (
    AUTHORED,
    WRITE_MANIFEST,
    drift,
    first_drifts,
    manifest_entries,
    manifest_file,
    read_entry,
    require_reference,
    with_place,
)
from strands_cli.plugins.check.packaging import check_metadata, check_packaged, has_build_hook
from strands_cli.plugins.check.project import PluginProject, moduleless, package_of
from strands_cli.plugins.check.tool_definitions import check_declared
from strands_cli.plugins.check.undescribed import NOT_CHECKED, Undescribed, check_undescribed

if TYPE_CHECKING:
    from strands_cli.parts.part_faults import Declared
    from strands_cli.plugins.check.packaged_workflows import FolderCheck
    from strands_cli.plugins.check.workflow_tests import TestOutcome

MANIFEST_MISSING = Code(
    "manifest-missing",
    "A plugin has no strands_tools.json, so most of it is unknown without an import.",
    "Generate it with: strands plugin manifest --write",
)
NAME_INSTALLED = Code(
    "name-installed",
    "A new plugin has the name of an installed distribution, which installing it replaces.",
    "Give it another name.",
)
NO_PY_TYPED = Code(
    "no-py-typed",
    "A plugin's package has no py.typed, so type checkers ignore its types.",
    "Add an empty file py.typed.",
)


@dataclass(slots=True)
class PluginCheck:
    """The state of one check: the findings, and each manifest, read once."""

    project: PluginProject
    seconds: float | None
    findings: list[Finding] = field(default_factory=list)
    manifests: dict[Path, Manifest | None] = field(default_factory=dict)
    undescribed: dict[Path, list[Undescribed]] = field(default_factory=dict)
    folders: FolderCheck | None = None
    tests: list[TestOutcome] = field(default_factory=list)

    @property
    def tools(self) -> list[str]:
        """The names of the tools in valid manifests, sorted."""
        return sorted({tool["name"] for manifest in self.manifests.values() if manifest for tool in manifest.tools})

    @property
    def parts(self) -> list[Declared]:
        """Its hooks, and what a person names of it, such as commands."""
        return [part for part in self.project.parts if part.group in (HOOKS, *PART_GROUPS)]

    @property
    def has_data(self) -> bool:
        """Whether there are workflows, agents or skills."""
        return self.folders is not None and bool(self.folders.workflows or self.folders.agents or self.folders.skills)


def check_plugin(
    project: PluginProject, seconds: float | None = None, *, tests: bool = False, twins: bool = True
) -> PluginCheck:
    """Check everything that an author should correct before others install the plugin.

    Args:
        project: A source tree or an installed distribution.
        seconds: The time limit for importing each entry point in a child process; None imports nothing.
        tests: Whether the tests of its workflows and agents run, in child processes.
        twins: Whether other distributions of this machine are searched for tools of the same names.
    """
    check = PluginCheck(project, seconds)
    check.findings += check_metadata(project)
    for name, value in sorted(project.entry_points.items()):
        try:
            check.findings += _check_entry_point(check, name, value)
        except InvalidInput as error:
            check.findings += error.findings
    _check_undescribed(check)
    for file, manifest in check.manifests.items():
        check.findings += _check_leftovers(project, file, manifest)
    check.findings += check_twins(project) if twins else ()
    if project.parts:
        from strands_cli.plugins.check.declared_parts import check_parts

        check.findings += check_parts(project, seconds, twins=twins)
    if project.folders:
        _check_data(check, tests=tests)
    if not (check.tools or check.has_data or check.parts or has_errors(check.findings)):
        message = f"'{project.name}' has no tools, workflows, agents, skills or parts, so nothing was checked"
        check.findings.append(Finding(NOT_CHECKED, message, Where(str(project.declared_in))))
    check.findings = [with_place(finding, project) for finding in dict.fromkeys(first_drifts(check.findings))]
    return check


def _check_data(check: PluginCheck, *, tests: bool) -> None:
    """Check the folders of workflows, agents and skills; their tests run only where nothing else is wrong."""
    from strands_cli.plugins.check.packaged_workflows import check_folders
    from strands_cli.plugins.check.workflow_tests import run_tests

    check.folders = check_folders(check.project)
    if tests and check.folders.is_sound:
        check.tests = run_tests(check.folders, with_tools=check.seconds is not None)
    check.findings += check.folders.findings


def _check_entry_point(check: PluginCheck, name: str, value: str) -> Iterator[Finding]:
    project, declared_in = check.project, Where(str(check.project.declared_in))
    if not TOOL_NAME.fullmatch(name):
        yield bad_name(name, normalise(project.name), declared_in)
        return
    module, attribute = require_reference(project, name, value)
    package = package_of(project, module, name)
    if module_file(package, module) is None:
        yield moduleless(project, name, module)
        return
    file = manifest_file(package, module)
    if file not in check.manifests:
        yield from _check_manifest(check, package, file)
    is_described = file.is_file()
    found = read_entry(project, package, module, attribute)
    # The schema of a signature is not compared with the manifest's, which the SDK made.
    found = found.literal if is_described else found
    if check.seconds is not None:
        loaded, findings = check_import(project, name, (module, attribute), check.seconds)
        yield from findings
        found = loaded.tool if loaded else found
    yield from found.check_words(project.name)
    if not is_described:
        check.undescribed.setdefault(file, []).append(Undescribed(name, value, found))
    yield from _check_fresh(check, file, (name, value), found)


def _check_undescribed(check: PluginCheck) -> None:
    """Check the tools whose package has no manifest, and require that there was something to check."""
    for file, points in check.undescribed.items():
        manifest, findings = check_undescribed(check.project, file, points, imported=check.seconds is not None)
        check.manifests[file] = manifest
        check.findings += findings


def _check_manifest(check: PluginCheck, package: Package, file: Path) -> Iterator[Finding]:
    check.manifests[file] = None
    if not (file.parent / "py.typed").is_file():
        message = f"the package '{package.name}' has no py.typed"
        yield Finding(NO_PY_TYPED, message, Where(str(file.parent)), severity="warning")
    if not file.is_file():
        if not has_build_hook(check.project):
            yield Finding(MANIFEST_MISSING, "there is no manifest", Where(str(file)), WRITE_MANIFEST)
        return
    manifest, findings = parse_manifest(file.read_bytes(), str(file), normalise(check.project.name))
    yield from findings
    yield from check_packaged(check.project, file)
    check.manifests[file] = manifest
    if manifest is None:
        return
    if not manifest.low <= CONTRACT <= manifest.high:
        message = f"the plugin has calling contract {manifest.contracts}, this strands-cli {CONTRACT}"
        yield Finding(MANIFEST_VERSION, message, Where(str(file), pointer="/api"))
    for index, tool in enumerate(manifest.tools):
        yield from check_declared(tool, str(file), f"/tools/{index}")


def _check_fresh(check: PluginCheck, file: Path, entry_point: tuple[str, str], found: SourceTool) -> Iterator[Finding]:
    """Yield the differences between the manifest and what is certain from the code."""
    name, value = entry_point
    manifest = check.manifests[file]
    committed = by_identity({"tools": list(manifest.tools)}) if manifest else {}
    entry = _plain(value)
    mine = {identity: indexed for identity, indexed in committed.items() if indexed[1]["entry"] == entry}
    known = _known(name, value, found, check.project)
    if manifest is None:
        return
    if not mine and known is None:
        yield drift(f"the manifest does not describe '{name}' ({entry})", file, "/tools")
    for identity, tool in (known or {}).items():
        if identity not in mine:
            yield drift(f"the manifest does not describe '{tool['name']}' ({entry})", file, "/tools")
            continue
        index, old_tool = mine[identity]
        compared = {key: old_tool[key] for key in old_tool if key not in AUTHORED and (found.complete or key in tool)}
        for pointer, old, new in differences(_filled(compared), _filled(tool), f"/tools/{index}"):
            yield drift(f"the manifest has {json_line(old)}, the code has {json_line(new)}", file, pointer)
    if found.complete:
        for identity, (index, tool) in mine.items():
            if identity not in (known or {}):
                yield drift(f"the code has no tool '{tool['name']}'", file, f"/tools/{index}")


def _filled(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest's tool with its optional objects."""
    return {"annotations": {}, "strands_cli": {}, **tool}


def _known(name: str, value: str, found: SourceTool, project: PluginProject) -> dict[str, dict[str, Any]] | None:
    """Return the tools that are certain from the code, as manifest entries; None if known only after loading."""
    members = found.members if found.kind in MANY else (found,)
    if found.kind == "unknown" or not found.certain or not members:
        if found.complete or (found.kind in MANY and members == ()):
            manifest_entries(name, value, found, project)  # raises: it has no tool
        return None
    if not all(one.certain and one.name for one in members):
        return None
    entries = manifest_entries(name, value, found, project)
    return {f"{entry['entry']}#{entry['name']}": entry for entry in entries}


def _check_leftovers(project: PluginProject, file: Path, manifest: Manifest | None) -> Iterator[Finding]:
    declared = {_plain(value) for value in project.entry_points.values()}
    for index, tool in enumerate(manifest.tools if manifest else ()):
        if _plain(tool["entry"]) not in declared:
            message = f"no entry point declares the manifest's tool '{tool['name']}' ({tool['entry']})"
            yield Finding(MANIFEST_UNTRUE, message, Where(str(file), pointer=f"/tools/{index}/entry"))


def _plain(value: str) -> str:
    return "".join(value.split()).partition("[")[0]


def check_installed(name: str) -> Iterator[Finding]:
    """Yield a warning for a new project whose distribution is installed: installing the project would replace it."""
    from strands_cli.catalog.distributions.scan import scan_installed

    copies = scan_installed().records.get(normalise(name))
    if copies:
        message = f"'{name}' is installed already; installing this project replaces it"
        fix = f"take another name: strands plugin new my_{normalise(name).rpartition('-')[2]}"
        yield Finding(NAME_INSTALLED, message, Where(copies[0][1]), fix, severity="warning")


def check_twins(project: PluginProject) -> Iterator[Finding]:
    """Yield a warning for each entry point whose name, ignoring case, another installed distribution has."""
    from strands_cli.catalog.distributions.scan import scan_installed

    names = {name.lower().replace("-", "_"): name for name in project.entry_points}
    for other in scan_installed().distributions:
        for point in other.entry_points:
            name = names.get(point.name.lower().replace("-", "_"))
            if name is not None and other.name != normalise(project.name):
                message = f"the tool '{name}' has the name of the installed tool '{point.name}' of '{other.name}'"
                fix = f"with both installed, a workflow must write native:{normalise(project.name)}/{name}"
                yield Finding(TOOL_CONFLICT, message, Where(str(project.declared_in)), fix, severity="warning")
