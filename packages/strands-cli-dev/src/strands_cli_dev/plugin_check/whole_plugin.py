"""Check a whole plugin, as a source tree or installed; it is imported only on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from strands_cli.api import Code, Finding, InvalidInput, Manifest, SourceTool, Where
from strands_cli_dev.plugin_check.import_checks import check_import, check_import_of_part
from strands_cli_dev.plugin_check.manifests import (
    WRITE_MANIFEST,
    by_identity,
    drift,
    drifted,
    first_drifts,
    manifest_entries,
    plain_reference,
    with_place,
)
from strands_cli_dev.plugin_check.packaging import check_metadata, check_packaged, has_build_hook
from strands_cli_dev.plugin_check.plugin_project import PluginProject
from strands_cli_dev.plugin_check.tool_definitions import check_declared
from strands_cli_dev.plugin_check.undescribed import NOT_CHECKED, check_undescribed

if TYPE_CHECKING:
    from strands_cli_dev.plugin_check.packaged_workflows import FolderCheck
    from strands_cli_dev.plugin_check.workflow_tests import TestOutcome

MANIFEST_MISSING = Code(
    "manifest-missing",
    "A plugin has no strands_tools.json, so most of it is unknown without an import.",
    "Generate it: strands plugin manifest --write",
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
    undescribed: dict[Path, dict[str, SourceTool]] = field(default_factory=dict)
    folders: FolderCheck | None = None
    tests: list[TestOutcome] = field(default_factory=list)

    @property
    def tools(self) -> list[str]:
        """The names of the tools in valid manifests, sorted."""
        return sorted({tool["name"] for manifest in self.manifests.values() if manifest for tool in manifest.tools})

    @property
    def has_data(self) -> bool:
        """Whether there are workflows, agents or skills."""
        return self.folders is not None and bool(self.folders.workflows or self.folders.agents or self.folders.skills)

    @property
    def has_errors(self) -> bool:
        """Whether one of the findings is an error."""
        return any(finding.severity == "error" for finding in self.findings)


def check_plugin(
    project: PluginProject, seconds: float | None = None, *, tests: bool = False, twins: bool = True
) -> PluginCheck:
    """Check everything that an author should correct before others install the plugin.

    Args:
        project: A source tree or an installed distribution.
        seconds: The time limit for importing each entry point in a child process; None imports nothing.
        tests: Whether the tests of its workflows and agents run, in child processes.
        twins: Whether other distributions of this machine are searched for tools and parts of the same names.
    """
    check, source = PluginCheck(project, seconds), project.source
    check.findings += check_metadata(project)
    for name in sorted(source.tools):
        try:
            check.findings += _check_tool(check, name)
        except InvalidInput as error:
            check.findings += error.findings
    _check_undescribed(check)
    for file, manifest in check.manifests.items():
        check.findings += _check_leftovers(project, file, manifest)
    check.findings += source.twins() if twins else ()
    check.findings += source.group_faults()
    for part in source.parts:
        check.findings += _check_part(check, part, twins=twins)
    if source.folders:
        _check_data(check, tests=tests)
    if not (check.tools or check.has_data or source.parts or check.has_errors):
        message = f"'{project.name}' has no tools, workflows, agents, skills or parts, so nothing was checked"
        check.findings.append(Finding(NOT_CHECKED, message, project.where))
    check.findings = [with_place(finding, project) for finding in dict.fromkeys(first_drifts(check.findings))]
    return check


def _check_part(check: PluginCheck, part: tuple[str, str, str], *, twins: bool) -> Iterator[Finding]:
    faults = list(check.project.source.part_faults(part, here=twins))
    yield from faults
    if check.seconds is not None and not faults:
        yield from check_import_of_part(check.project, part, check.seconds)


def _check_data(check: PluginCheck, *, tests: bool) -> None:
    """Check the folders of workflows, agents and skills; their tests run only where nothing else is wrong."""
    from strands_cli_dev.plugin_check.packaged_workflows import check_folders
    from strands_cli_dev.plugin_check.workflow_tests import run_tests

    check.folders = check_folders(check.project)
    if tests and check.folders.is_sound:
        check.tests = run_tests(check.folders, with_tools=check.seconds is not None)
    check.findings += check.folders.findings


def _check_tool(check: PluginCheck, name: str) -> Iterator[Finding]:
    project = check.project
    project.source.file_of(name)  # raises: it names no module
    file = project.source.manifest_file(name)
    if file not in check.manifests:
        yield from _check_manifest(check, file)
    is_described = file.is_file()
    tool = project.source.read(name)
    # The schema of a signature is not compared with the manifest's, which the SDK made.
    tool = tool.literal if is_described else tool
    if check.seconds is not None:
        imported, findings = check_import(project, name, check.seconds)
        yield from findings
        tool = imported or tool
    yield from tool.check_words(project.name)
    if not is_described:
        check.undescribed.setdefault(file, {})[name] = tool
    yield from _check_fresh(check, file, name, tool)


def _check_undescribed(check: PluginCheck) -> None:
    """Check the tools whose package has no manifest."""
    for file, tools in check.undescribed.items():
        manifest, findings = check_undescribed(check.project, file, tools, imported=check.seconds is not None)
        check.manifests[file] = manifest
        check.findings += findings


def _check_manifest(check: PluginCheck, file: Path) -> Iterator[Finding]:
    check.manifests[file] = None
    if not (file.parent / "py.typed").is_file():
        message = f"the package '{file.parent.name}' has no py.typed"
        yield Finding(NO_PY_TYPED, message, Where(str(file.parent)), severity="warning")
    if not file.is_file():
        if not has_build_hook(check.project):
            yield Finding(MANIFEST_MISSING, "there is no manifest", Where(str(file)), WRITE_MANIFEST)
        return
    manifest, findings = Manifest.parse(file.read_bytes(), str(file), check.project.source.name)
    yield from findings
    yield from check_packaged(check.project, file)
    check.manifests[file] = manifest
    if manifest is None:
        return
    if not manifest.fits:
        message = f"the plugin has calling contract {manifest.contracts}, which this strands-cli does not have"
        yield Finding(Manifest.OTHER_VERSION, message, Where(str(file), pointer="/api"))
    for index, tool in enumerate(manifest.tools):
        yield from check_declared(tool, str(file), f"/tools/{index}")


def _check_fresh(check: PluginCheck, file: Path, name: str, tool: SourceTool) -> Iterator[Finding]:
    """Yield the differences between the manifest and the certain facts of the code."""
    manifest = check.manifests[file]
    certain = _certain(check.project, name, tool)
    if manifest is None:
        return
    entry = plain_reference(check.project.source.tools[name])
    committed = by_identity({"tools": list(manifest.tools)})
    mine = {identity: indexed for identity, indexed in committed.items() if indexed[1]["entry"] == entry}
    if not mine and certain is None:
        yield drift(f"the manifest does not describe '{name}' ({entry})", file, "/tools")
    for identity, new_entry in (certain or {}).items():
        if identity not in mine:
            yield drift(f"the manifest does not describe '{new_entry['name']}' ({entry})", file, "/tools")
            continue
        index, old = mine[identity]
        compared = {
            key: value
            for key, value in old.items()
            if key not in Manifest.CATALOGUE and (tool.complete or key in new_entry)
        }
        yield from drifted(_filled(compared), _filled(new_entry), file, f"/tools/{index}")
    if tool.complete:
        for identity, (index, old) in mine.items():
            if identity not in (certain or {}):
                yield drift(f"the code has no tool '{old['name']}'", file, f"/tools/{index}")


def _filled(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest's tool with its optional objects."""
    return {"annotations": {}, "strands_cli": {}, **tool}


def _certain(project: PluginProject, name: str, tool: SourceTool) -> dict[str, dict[str, Any]] | None:
    """Return the tools certain from the code, as manifest entries; None if known only after loading."""
    members = tool.members if tool.holds_many else (tool,)
    if tool.kind == "unknown" or not tool.certain or not members:
        if tool.complete or (tool.holds_many and members == ()):
            manifest_entries(project, name, tool)  # raises: it has no tool
        return None
    if not all(member.certain and member.name for member in members):
        return None
    return {f"{entry['entry']}#{entry['name']}": entry for entry in manifest_entries(project, name, tool)}


def _check_leftovers(project: PluginProject, file: Path, manifest: Manifest | None) -> Iterator[Finding]:
    declared = {plain_reference(value) for value in project.source.tools.values()}
    for index, tool in enumerate(manifest.tools if manifest else ()):
        if plain_reference(tool["entry"]) not in declared:
            message = f"no entry point declares the manifest's tool '{tool['name']}' ({tool['entry']})"
            where = Where(str(file), pointer=f"/tools/{index}/entry")
            yield Finding(Manifest.UNTRUE, message, where)


def check_installed(name: str) -> Iterator[Finding]:
    """Yield a warning for a new project whose distribution is installed: installing the project would replace it."""
    try:
        path = distribution(name).locate_file("")
    except PackageNotFoundError:
        return
    message = f"'{name}' is installed already; installing this project replaces it"
    fix = f"take another name: strands plugin new my_{canonicalize_name(name).rpartition('-')[2]}"
    yield Finding(NAME_INSTALLED, message, Where(str(path)), fix, severity="warning")
