"""A plugin under check: the project in a folder, or an installed distribution."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from strands_cli.api import Finding, InvalidInput, PluginSource, Where, json_object, suggest

TOOLS = "strands_cli.tools"
_GROUPS = "strands_cli"
# The form of an entry point's value by its group; of every other group it names an object.
_FORMS = {
    TOOLS: "package.module",
    **dict.fromkeys(("strands_cli.workflows", "strands_cli.agents", "strands_cli.skills"), "package:folder"),
}


@dataclass(frozen=True, slots=True)
class PluginProject:
    """A plugin under check.

    Attributes:
        directory: The source tree, or the `*.dist-info` of an installed distribution.
        name: The name in its metadata.
        source: Its packages and entry points.
        settings: The whole `pyproject.toml`; empty for an installed distribution.
    """

    directory: Path
    name: str
    source: PluginSource
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        """Whether it is an installed distribution."""
        return self.source.listings is not None

    @property
    def where(self) -> Where:
        """The file that declares its entry points."""
        return Where(str(self.source.declared_in))


def find_plugin(plugin: str) -> PluginProject:
    """Return the project in a directory, or the installed distribution of that name.

    Raises:
        InvalidInput: Neither exists.
    """
    directory = Path(plugin)
    is_name = "/" not in plugin and "\\" not in plugin and plugin not in (".", "..")
    if is_name and not (directory / "pyproject.toml").is_file():
        return find_installed(plugin)
    return read_project(directory)


def read_project(directory: Path) -> PluginProject:
    """Read the `pyproject.toml` of a plugin.

    Raises:
        InvalidInput: It is missing or malformed, or declares no tool, no folder of workflows and no other part.
    """
    file = directory / "pyproject.toml"
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise unusable(f"{directory} has no pyproject.toml", file, "name the plugin's project directory") from None
    except (OSError, ValueError) as error:
        raise unusable(f"pyproject.toml cannot be read: {error}", file) from None
    project, poetry = json_object(settings.get("project")), json_object(_at(settings, "tool").get("poetry"))
    declared = {**json_object(poetry.get("plugins")), **json_object(project.get("entry-points"))}
    if "name" in poetry and "name" not in project:  # the form of Poetry before 2
        project = {"name": poetry["name"], "version": poetry.get("version"), **project}
        settings = {**settings, "project": project}
    groups = {group: json_object(points) for group, points in declared.items() if _is_meant_as_ours(group)}
    points = [(group, name, value) for group, its in groups.items() for name, value in its.items()]
    name = project.get("name")
    if not isinstance(name, str) or not points:
        fix = f'add [project.entry-points."{TOOLS}"] with a line: name = "package.module"'
        raise unusable(f"pyproject.toml declares no entry point in the group {TOOLS!r}", file, fix)
    for group, point, value in points:
        if not isinstance(value, str):
            form = _FORMS.get(group, "package.module:object")
            raise unusable(f"the entry point '{point}' is not text", file, f'write {point} = "{form}"')
    root = _root_of(directory, settings, [value for _, _, value in points])
    return PluginProject(directory, name, PluginSource(canonicalize_name(name), root, file, points), settings)


def _is_meant_as_ours(group: str) -> bool:
    return "".join(group.split()).lower().replace("-", "_").startswith(f"{_GROUPS}.")


def _root_of(directory: Path, settings: Mapping[str, Any], references: Iterable[str]) -> Path:
    """Return the directory that the packages of a project are imported from: one that its build names, src, or it."""
    poetry, backend = _at(settings, "tool", "poetry"), _at(settings, "tool", "uv", "build-backend")
    named = [package.get("from") for package in poetry.get("packages") or () if isinstance(package, dict)]
    named += [backend.get("module-root"), _at(settings, "tool", "setuptools", "package-dir").get("")]
    wheel = _at(settings, "tool", "hatch", "build", "targets", "wheel")
    named += [str(Path(included).parent) for included in wheel.get("packages") or () if isinstance(included, str)]
    roots = [
        directory / name for name in (*(name_or_none for name_or_none in named if isinstance(name_or_none, str)), "src")
    ]
    roots = [root for root in roots if root.is_dir() and root.resolve().is_relative_to(directory.resolve())]
    tops = {"".join(reference.split()).partition(":")[0].partition(".")[0] for reference in references}
    has = [
        root
        for root in (*roots, directory)
        if any((root / f"{top}.py").is_file() or (root / top).is_dir() for top in tops)
    ]
    return (has or [*roots, directory])[0]


def find_installed(name: str) -> PluginProject:
    """Find an installed distribution that declares tools, workflows, agents, skills, hooks or other parts.

    Raises:
        InvalidInput: No installed distribution has this name, or it declares none of them.
    """
    code = PluginSource.UNKNOWN
    source = PluginSource.installed(name)
    if source is not None and source.points:
        return PluginProject(source.declared_in.parent, source.name, source)
    if source is not None:
        message = f"the distribution '{name}' is installed, but declares nothing in a group such as {TOOLS!r}"
        raise InvalidInput(message, findings=[Finding(code, message)])
    otherwise = "name an installed distribution, or a directory with a pyproject.toml"
    declaring = {
        canonicalize_name(distribution.name)
        for distribution in distributions()
        if distribution.entry_points.select(group=TOOLS)
    }
    message = f"no distribution '{name}' is installed, and there is no such directory"
    fix = suggest(canonicalize_name(name), declaring, otherwise)
    raise InvalidInput(message, findings=[Finding(code, message, fix=fix)])


def unusable(message: str, file: Path, fix: str | None = None) -> InvalidInput:
    """Return the error for a plugin that cannot be read."""
    finding = Finding(PluginSource.UNUSABLE, message, Where(str(file)), fix)
    return InvalidInput("the plugin's manifest cannot be made", findings=[finding])


def _at(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        table = json_object(table.get(key))
    return table
