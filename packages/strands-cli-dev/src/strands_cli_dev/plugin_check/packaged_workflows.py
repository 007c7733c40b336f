"""Check the workflows, agents and skills of a package: valid, planned, and reading nothing outside their folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from packaging.utils import canonicalize_name

from strands_cli.api import SUFFIXES, Code, Finding, InvalidInput, PortableFile, Where, json_object
from strands_cli_dev.plugin_check.folder_files import DataFolder, read_folder
from strands_cli_dev.plugin_check.plugin_project import PluginProject

PACKAGE_EMPTY = Code(
    "package-empty",
    "A declared folder has no workflow, agent or skill of its group.",
    "Put one into the folder, or remove the entry point.",
)
PACKAGE_OUTSIDE = Code(
    "package-outside",
    "A workflow of a package reads a file outside its own folder.",
    "Move the file into the folder.",
)
PACKAGE_REQUIRES = Code(
    "package-requires",
    "A package does not require the distribution of a tool that its workflow names.",
    "Add it to `dependencies` of pyproject.toml.",
)

_ENTRY = "SKILL.md"
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Runnable:
    """A workflow or an agent of a package with tests.

    Attributes:
        kind: `workflow` or `agent`.
        name: The stem of its file.
        folder: The folder that the package declares.
        file: Its name in the folder.
        calls_tools: The tools that its test would call, by the names that the workflow gives them.
        has_test: Whether a recording, or the file itself, has a test of it.
    """

    kind: str
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
    """The folders of one package, their files, and the findings about them."""

    project: PluginProject
    findings: list[Finding] = field(default_factory=list)
    folders: dict[Path, DataFolder] = field(default_factory=dict)
    files: dict[Path, PortableFile] = field(default_factory=dict)
    workflows: dict[str, Runnable] = field(default_factory=dict)
    agents: dict[str, Runnable] = field(default_factory=dict)
    skills: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong that would make a test meaningless."""
        return not any(finding.severity == "error" for finding in self.findings)

    def folder(self, path: Path) -> DataFolder:
        """Return a folder; it and its documents are read once, whichever groups it is declared in."""
        if path not in self.folders:
            self.folders[path] = folder = read_folder(path)
            self.findings += folder.findings
            names = [name for name in folder.files if "/" not in name and Path(name).suffix in SUFFIXES]
            self.files |= PortableFile.read([path / name for name in (*names, *_skills_in(folder))])
        return self.folders[path]


def check_folders(project: PluginProject) -> FolderCheck:
    """Check every folder of workflows, agents and skills of a package; nothing is imported and nothing runs."""
    check = FolderCheck(project)
    for kind, name, _ in sorted(project.source.folders):
        try:
            folder = check.folder(project.source.folder(kind, name))
        except InvalidInput as error:
            check.findings += error.findings
            continue
        if not _check_files(check, kind, folder):
            message = f"the entry point '{name}' names {folder.path}, which has no {kind}"
            check.findings.append(Finding(PACKAGE_EMPTY, message, project.where))
    check.findings = list(dict.fromkeys(check.findings))
    return check


def _check_files(check: FolderCheck, kind: str, folder: DataFolder) -> bool:
    """Check the files of one kind in a folder, and return whether it has any, or one that cannot be read."""
    has_any = False
    for path, file in check.files.items():
        if path.parent != folder.path and path != folder.path:
            continue
        is_unread = file.kind is None and bool(file.findings)
        has_any = has_any or file.kind == kind or (is_unread and kind != "skill")
        if is_unread or file.kind == kind:
            check.findings += file.findings
        if file.kind == kind == "skill":
            check.skills.append(path.name)
        elif file.kind == kind:
            check.findings += _beyond_folder(folder, path, file)
            check.findings += _requirements(check.project, path, file) if kind == "workflow" else ()
            if file.is_sound:
                tools = tuple(dict.fromkeys(name for name, _ in file.tools))
                runnable = Runnable(kind, path.stem, folder, path.name, tools, file.has_test)
                (check.workflows if kind == "workflow" else check.agents).setdefault(runnable.name, runnable)
    return has_any


def _skills_in(folder: DataFolder) -> list[str]:
    """Return the skills of a folder as paths in it: `` for the folder itself."""
    if _ENTRY in folder.files:
        return [""]
    return sorted(
        name.removesuffix(f"/{_ENTRY}") for name in folder.files if name.endswith(f"/{_ENTRY}") and name.count("/") == 1
    )


def _beyond_folder(folder: DataFolder, path: Path, file: PortableFile) -> Iterator[Finding]:
    """Yield a finding for each file outside its folder that a workflow or an agent reads."""
    root, own = os.path.realpath(folder.path), os.path.realpath(path)
    for other in file.files:
        if os.path.realpath(other) != own and not Path(os.path.realpath(other)).is_relative_to(root):
            message = f"it reads {other}, which is not in {folder.path}"
            yield Finding(PACKAGE_OUTSIDE, message, Where(str(path), 1, 1))


def _requirements(project: PluginProject, path: Path, file: PortableFile) -> Iterator[Finding]:
    """Yield a warning for each distribution of a used tool that the project does not require."""
    if project.is_installed:
        return  # the requirements of an installed distribution were resolved at its installation
    stated = json_object(project.settings.get("project")).get("dependencies") or ()
    required = {canonicalize_name(match[0]) for line in stated if (match := _REQUIRED.match(str(line).strip()))}
    its = {distribution for _, distribution in file.tools if distribution}
    for name in sorted(its - required - {project.source.name}):
        used = ", ".join(sorted(tool for tool, distribution in file.tools if distribution == name))
        message = f"the workflow uses {used} of {name}, which the package does not require"
        yield Finding(PACKAGE_REQUIRES, message, Where(str(path), 1, 1), f'add "{name}" to `dependencies`', "warning")
