"""Check the workflows, agents and skills of a package: valid, planned, and reading nothing outside their folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.catalog.packaged_folders import GROUPS, PackagedKind
from strands_cli.errors import Code, Finding, InvalidInput, StrandsCliError, Where
from strands_cli.plugins.check.folder_files import DataFolder, find_folder, read_folder
from strands_cli.plugins.check.project import PluginProject

if TYPE_CHECKING:
    from strands_cli.planning.machine.installation import Installation
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.yaml_files.document import Document

PACKAGE_EMPTY = Code(
    "package-empty",
    "A folder that a package declares has no workflow, no agent or no skill, as its group says.",
    "Put the file into the folder, or remove the entry point.",
)
PACKAGE_OUTSIDE = Code(
    "package-outside",
    "A workflow of a package reads a file that is not in its own folder, so it is not there once it is installed.",
    "Move the file into the folder of the workflow.",
)
PACKAGE_REQUIRES = Code(
    "package-requires",
    "A package does not require the distribution of a tool that its workflow names.",
    "Add it to `dependencies` of pyproject.toml.",
)

Kind = Literal["workflow", "agent"]
_ENTRY = "SKILL.md"
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Runnable:
    """A workflow or an agent of a package that has tests.

    Attributes:
        name: The stem of its file.
        folder: The folder that the package declares.
        file: Its name in the folder.
        calls_tools: The tools that its test would call, by the names that the workflow gives them.
        has_test: Whether a recording, or the file itself, has a test of it.
    """

    kind: Kind
    name: str
    folder: DataFolder
    file: str
    calls_tools: tuple[str, ...] = ()
    has_test: bool = True

    @property
    def path(self) -> Path:
        """The path of its file."""
        return self.folder.path / self.file


@dataclass
class FolderCheck:
    """The folders of one package, what is in them, and what is wrong with them."""

    project: PluginProject
    findings: list[Finding] = field(default_factory=list)
    folders: dict[Path, DataFolder] = field(default_factory=dict)
    workflows: dict[str, Runnable] = field(default_factory=dict)
    agents: dict[str, Runnable] = field(default_factory=dict)
    skills: list[str] = field(default_factory=list)
    documents: dict[Path, Document | None] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong that would make a test meaningless."""
        return not any(finding.severity == "error" for finding in self.findings)

    @cached_property
    def machine(self) -> Installation:
        """This machine without policy; its tools are listed without an import."""
        from strands_cli.catalog.catalog import discover_catalog
        from strands_cli.config import load_settings
        from strands_cli.planning.machine.installation import without_policy

        return without_policy(discover_catalog(), load_settings())

    def folder(self, path: Path) -> DataFolder:
        """Return the files of a folder, read once."""
        if path not in self.folders:
            self.folders[path] = read_folder(path)
            self.findings += self.folders[path].findings
        return self.folders[path]

    def document(self, path: Path) -> Document | None:
        """Return a YAML or JSON file, read once; what keeps it from being read is reported."""
        from strands_cli.yaml_files.document_reader import read_document

        if path not in self.documents:
            try:
                self.documents[path] = read_document(path)
            except StrandsCliError as error:
                self.documents[path] = None
                self.findings += error.findings
        return self.documents[path]


def check_folders(project: PluginProject) -> FolderCheck:
    """Check every folder of workflows, agents and skills of a package; nothing is imported and nothing runs."""
    check = FolderCheck(project)
    for group, kind in GROUPS.items():
        for name, value in sorted(project.folders.get(group, {}).items()):
            try:
                folder = check.folder(find_folder(project, name, value))
            except InvalidInput as error:
                check.findings += error.findings
                continue
            if not _check_group(check, kind, folder):
                message = f"the entry point '{name}' names {folder.path}, which has no {kind}"
                check.findings.append(Finding(PACKAGE_EMPTY, message, Where(str(project.declared_in))))
    check.findings = list(dict.fromkeys(check.findings))
    return check


def _check_group(check: FolderCheck, kind: PackagedKind, folder: DataFolder) -> bool:
    """Check what a folder has of one kind, and return whether it has any."""
    if kind == "skill":
        found = _skills_in(folder)
        for root in found:
            _check_skill(check, folder, root)
        return bool(found)
    documents = {name: check.document(folder.path / name) for name in _documents_in(folder)}
    unread = None in documents.values()
    found_any = False
    for name, document in documents.items():
        if document is None:
            continue
        if kind == "workflow" and _is_workflow(document):
            found_any = True
            _add(check.workflows, _check_workflow(check, folder, name, document))
        elif kind == "agent" and _is_agent(document):
            found_any = True
            _add(check.agents, _check_agent(check, folder, name, document))
    return found_any or unread  # the reason why it cannot be read is reported already


def _add(known: dict[str, Runnable], found: Runnable | None) -> None:
    if found is not None:
        known.setdefault(found.name, found)


def _documents_in(folder: DataFolder) -> list[str]:
    from strands_cli.yaml_files.document_reader import SUFFIXES

    return [name for name in folder.files if "/" not in name and Path(name).suffix in SUFFIXES]


def _is_workflow(document: Document) -> bool:
    from strands_cli.planning.folders.workflow_folder import is_workflow

    return is_workflow(document)


def _is_agent(document: Document) -> bool:
    from strands_cli.workflow.parts.agent_file import is_agent_file

    return is_agent_file(document.value)


def _check_workflow(check: FolderCheck, folder: DataFolder, name: str, document: Document) -> Runnable | None:
    from strands_cli.planning.plan_builder import build_plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.planning.workflow_tools.tool_parts import with_parts
    from strands_cli.workflow.loader import load_spec

    if name in {one.file for one in check.workflows.values() if one.folder.path == folder.path}:
        return None
    loaded = load_spec(document)
    check.findings += loaded.findings
    if (spec := loaded.valid) is None:
        return None
    check.findings += _beyond_folder(folder, document, [one.file for one in loaded.files])
    # A recording takes the place of the models, so that no key of this machine counts.
    request = RunRequest(provider="replay") if spec.runtime.recording else RunRequest()
    plan = build_plan(loaded, check.machine, request)
    of_machine = _about_the_machine()
    check.findings += [one for one in plan.findings if one.code not in of_machine and one not in loaded.findings]
    check.findings += _beyond_folder(folder, document, plan.files)
    check.findings += _requirements(check, plan, document)
    called = sorted({tool.name for tool in with_parts(plan.called()) if not tool.sources >= {"workflow"}})
    return Runnable("workflow", Path(name).stem, folder, name, tuple(called), spec.runtime.recording is not None)


def _about_the_machine() -> frozenset[str]:
    """Return the codes about the person's machine and choices, which the author of a package does not know."""
    from strands_cli.planning.checks.artifact_paths import CANNOT_WRITE
    from strands_cli.planning.checks.environment import MISSING_MOUNT
    from strands_cli.planning.checks.recording_checks import REPLAY_NEEDS_RECORDING
    from strands_cli.planning.environment_values import UNSET_VARIABLE
    from strands_cli.planning.provider_checks import MISSING_API_KEY, MISSING_EXTRA, PROVIDER_NEEDS
    from strands_cli.planning.run_inputs import MISSING_INPUT

    machine = (MISSING_MOUNT, CANNOT_WRITE, UNSET_VARIABLE, MISSING_API_KEY, MISSING_EXTRA, PROVIDER_NEEDS)
    return frozenset((*machine, MISSING_INPUT, REPLAY_NEEDS_RECORDING))


def _beyond_folder(folder: DataFolder, document: Document, files: Iterable[str]) -> list[Finding]:
    """Return a finding for each file that a workflow reads and that is not in its folder."""
    root = os.path.realpath(folder.path)
    gone = [file for file in files if not Path(os.path.realpath(file)).is_relative_to(root)]
    return [
        Finding(PACKAGE_OUTSIDE, f"it reads {file}, which is not in {folder.path}", document.where("")) for file in gone
    ]


def _requirements(check: FolderCheck, plan: Plan, document: Document) -> Iterator[Finding]:
    """Yield a warning for each distribution of a used tool that the project does not require."""
    from strands_cli.planning.planned_tools.planned_tool import InstalledTool
    from strands_cli.planning.workflow_tools.tool_parts import with_parts

    if check.project.installed is not None:
        return  # what an installed distribution requires was resolved when it was installed
    stated = check.project.settings.get("project", {}).get("dependencies", ())
    required = {normalise(found[0]) for line in stated if (found := _REQUIRED.match(str(line).strip()))}
    tools = [tool for tool in with_parts(plan.called()) if isinstance(tool, InstalledTool)]
    for name in sorted({tool.distribution for tool in tools} - required - {normalise(check.project.name)}):
        used = ", ".join(sorted(tool.name for tool in tools if tool.distribution == name))
        message = f"the workflow uses {used} of {name}, which the package does not require"
        yield Finding(PACKAGE_REQUIRES, message, document.where(""), f'add "{name}" to `dependencies`', "warning")


def _check_agent(check: FolderCheck, folder: DataFolder, name: str, document: Document) -> Runnable | None:
    from strands_cli.planning.folders.agent_workflow import agent_workflow_of, located_in_agent_file
    from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
    from strands_cli.workflow.parts.agent_file import read_atomic

    if name in {one.file for one in check.agents.values() if one.folder.path == folder.path}:
        return None
    atomic = read_atomic(document)
    loaded = agent_workflow_of(atomic).load()
    # Further variables of its prompt come from the workflow that uses it.
    found = [one for one in loaded.findings if one.code != UNDECLARED_VARIABLE]
    check.findings += [*atomic.findings, *(located_in_agent_file(one, atomic) for one in found)]
    read = [one.file for one in loaded.files if os.path.realpath(one.file) != os.path.realpath(document.file)]
    check.findings += _beyond_folder(folder, document, read)
    if loaded.readable is None:
        return None
    named = tuple(sorted(set(loaded.readable.named_tools())))
    tested = any(test.recording is not None or test.expect.error == "bad_input" for test in atomic.tests)
    return Runnable("agent", Path(name).stem, folder, name, named, tested)


def _skills_in(folder: DataFolder) -> list[str]:
    """Return the skills of a folder as paths in it: `` for the folder itself."""
    if _ENTRY in folder.files:
        return [""]
    return sorted(
        name.removesuffix(f"/{_ENTRY}") for name in folder.files if name.endswith(f"/{_ENTRY}") and name.count("/") == 1
    )


def _check_skill(check: FolderCheck, folder: DataFolder, root: str) -> None:
    """Check a skill as a workflow beside it would read it."""
    from strands_cli.workflow.builder import chain, step, workflow_text
    from strands_cli.workflow.loader import load_spec
    from strands_cli.yaml_files.file_source import FileSnapshot
    from strands_cli.yaml_files.yaml_events import parse

    name = root or folder.path.name
    if name in check.skills:
        return
    check.skills.append(name)
    around = {
        "version": 1,
        "name": "skill",
        "runtime": {"provider": "replay"},
        "skills": [{"id": "skill", "path": root or "."}],
        "agents": {"reader": {"prompt": "Read."}},
        "pattern": chain(step("reader", "Read.")),
    }
    loaded = load_spec(parse("<skill>", workflow_text(around)), FileSnapshot(folder.path))
    place = Where(str(folder.path / root / _ENTRY))
    found = [one for one in loaded.findings if one.where is not None and one.where.pointer.startswith("/skills")]
    check.findings += [replace(one, where=place, message=one.message.replace("'skill'", f"'{name}'")) for one in found]
