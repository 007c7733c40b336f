"""A plugin project: a source tree or an installed distribution, with its entry points and packages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_cli.catalog.distributions.dist_info import read_origin
from strands_cli.catalog.distributions.entry_points import GROUP, Scan, normalise, read_entry_points
from strands_cli.catalog.distributions.module_files import Package, find_package
from strands_cli.catalog.entry_faults import no_module
from strands_cli.catalog.packaged_folders import GROUPS
from strands_cli.errors import Code, Finding, InvalidInput, Where, suggest
from strands_cli.parts.part_faults import Declared, declared_by, is_meant_as_ours

BAD_PLUGIN = Code(
    "bad-plugin",
    "A plugin project cannot be read, or its code cannot be loaded to describe it.",
    "Correct what the message names.",
)
UNKNOWN_DISTRIBUTION = Code(
    "unknown-distribution",
    "No installed distribution with this name declares tools, workflows, agents, skills, commands or other parts.",
    "Correct the name, or install it.",
)

_OBJECT = "package.module:object"
_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\])?")


@dataclass(frozen=True, slots=True)
class PluginProject:
    """A plugin: its name, its entry points (name -> value) and the directory of its packages.

    Attributes:
        directory: The source tree, or the `*.dist-info` of an installed distribution.
        name: The name in its metadata.
        entry_points: Name -> value of the group `strands_cli.tools`.
        source: The directory its packages are imported from.
        settings: The whole `pyproject.toml`; empty for an installed distribution.
        installed: The names in every directory of the path, for an installed distribution; else None.
        folders: Group -> name -> value, of the groups of workflows, agents and skills that it declares.
        parts: Its entry points in our other groups, and in those whose names begin as ours do.
    """

    directory: Path
    name: str
    entry_points: Mapping[str, str]
    source: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    installed: Mapping[str, frozenset[str]] | None = None
    folders: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    parts: tuple[Declared, ...] = ()

    @property
    def declared_in(self) -> Path:
        """The file that declares the entry points."""
        return self.directory / ("pyproject.toml" if self.installed is None else "entry_points.txt")


def read_project(directory: Path) -> PluginProject:
    """Read the `pyproject.toml` of a plugin.

    Raises:
        InvalidInput: It is missing or malformed, or declares no tool, no folder of workflows and no other part.
    """
    import tomllib

    file = directory / "pyproject.toml"
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise unusable(f"{directory} has no pyproject.toml", file, "name the plugin's project directory") from None
    except (OSError, ValueError) as error:
        raise unusable(f"pyproject.toml cannot be read: {error}", file) from None
    project = _table(settings.get("project"))
    poetry = _table(_table(settings.get("tool")).get("poetry"))
    declared = {**_table(poetry.get("plugins")), **_table(project.get("entry-points"))}
    if "name" in poetry and "name" not in project:  # the form of Poetry before 2
        project = {"name": poetry["name"], "version": poetry.get("version"), **project}
        settings = {**settings, "project": project}
    points = _table(declared.get(GROUP))
    folders = {group: found for group in GROUPS if (found := _table(declared.get(group)))}
    others = {group: _table(declared[group]) for group in declared if is_meant_as_ours(group)}
    others = {group: found for group, found in others.items() if group != GROUP and group not in GROUPS}
    if not isinstance(project.get("name"), str) or not (points or folders or others):
        fix = f'add [project.entry-points."{GROUP}"] with a line: name = "package.module"'
        raise unusable(f"pyproject.toml declares no entry point in the group {GROUP!r}", file, fix)
    for every in (points, *folders.values(), *others.values()):
        if wrong := [name for name, value in every.items() if not isinstance(value, str)]:
            form = "package.module" if every is points else "package:folder" if every in folders.values() else _OBJECT
            raise unusable(f"the entry point '{wrong[0]}' is not text", file, f'write {wrong[0]} = "{form}"')
    modules = [value for every in (points, *folders.values(), *others.values()) for value in every.values()]
    parts = tuple(Declared(group, name, value) for group in others for name, value in others[group].items())
    source = _source_of(directory, settings, modules)
    return PluginProject(directory, project["name"], points, source, settings, folders=folders, parts=parts)


def _source_of(directory: Path, settings: Mapping[str, Any], references: Iterable[str]) -> Path:
    """Return the directory that the packages of a project are imported from: one that its build names, src, or it."""
    tool = _table(settings.get("tool"))
    poetry, backend = _table(tool.get("poetry")), _table(_table(tool.get("uv")).get("build-backend"))
    named = [one.get("from") for one in poetry.get("packages") or () if isinstance(one, dict)]
    named += [backend.get("module-root"), _table(_table(tool.get("setuptools")).get("package-dir")).get("")]
    wheel = _table(_table(_table(_table(tool.get("hatch")).get("build")).get("targets")).get("wheel"))
    named += [str(Path(one).parent) for one in wheel.get("packages") or () if isinstance(one, str)]
    roots = [directory / name for name in (*(one for one in named if isinstance(one, str)), "src")]
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
    from strands_cli.catalog.distributions.scan import scan_installed

    seen, wanted = scan_installed(), normalise(name)
    found = next((one for one in seen.distributions if one.name == wanted), None)
    if wanted in seen.records:
        site, record = seen.records[wanted][0]
        folders = _installed_folders(record, wanted, seen)
        if found is not None:
            site, record = found.directory, found.record
        points = {point.name: point.value for point in found.entry_points} if found else {}
        parts = tuple(installed_parts(record, wanted, seen))
        if points or folders or parts:
            where = Path(record), wanted, points, Path(site)
            return PluginProject(*where, installed=seen.listings, folders=folders, parts=parts)
        message = f"the distribution '{name}' is installed, but declares nothing in a group such as {GROUP!r}"
        raise InvalidInput(message, findings=[Finding(UNKNOWN_DISTRIBUTION, message)])
    otherwise = "name an installed distribution, or a directory with a pyproject.toml"
    fix = suggest(wanted, [one.name for one in seen.distributions], otherwise)
    message = f"no distribution '{name}' is installed, and there is no such directory"
    raise InvalidInput(message, findings=[Finding(UNKNOWN_DISTRIBUTION, message, fix=fix)])


def installed_parts(record: str, name: str, seen: Scan) -> Iterator[Declared]:
    """Yield the entry points of a record in our groups, besides those of tools and folders of workflows."""
    for point in declared_by(record, name, seen):
        if is_meant_as_ours(point.group) and point.group != GROUP and point.group not in GROUPS:
            yield point


def _installed_folders(record: str, name: str, seen: Scan) -> dict[str, dict[str, str]]:
    found = {group: read_entry_points(record, name, seen, group) for group in GROUPS}
    return {group: {point.name: point.value for point in points} for group, points in found.items() if points}


def split_reference(value: str) -> tuple[str, str | None] | None:
    """Return the module and the attribute that an entry point's value names; None if the value is malformed."""
    found = _VALUE.fullmatch(value.strip())
    if found is None:
        return None
    parts = ".".join(filter(None, found.groups())).split(".")
    return (found[1], found[2]) if all(part.isidentifier() for part in parts) else None


def package_of(project: PluginProject, module: str, name: str = "") -> Package:
    """Find the top-level package of the module of an entry point.

    Raises:
        InvalidInput: It does not exist, or is a single file, which cannot contain a manifest.
    """
    listings = project.installed or {str(project.source): frozenset(os.listdir(project.source))}  # noqa: PTH208 - names
    package = find_package(module.partition(".")[0], listings, str(project.source))
    place = (package.directory or package.file) if package else None
    if package is None or place is None or not (project.installed or Path(place).is_relative_to(project.source)):
        raise InvalidInput("the plugin's manifest cannot be made", findings=[moduleless(project, name, module)])
    if package.directory is None:
        fix = f"make it a package: {package.name}/__init__.py"
        raise unusable(f"'{module}' is a single file, which cannot contain a manifest", Path(place), fix)
    return package


def moduleless(project: PluginProject, name: str, module: str) -> Finding:
    """Report an entry point whose module does not exist."""
    own = normalise(project.name)
    fix = read_origin(str(project.directory)).how_to_repair(own) if project.installed else None
    return no_module(name, own, module, Where(str(project.declared_in)), fix)


def unusable(
    message: str, file: Path, fix: str | None = None, line: int | None = None, code: Code = BAD_PLUGIN
) -> InvalidInput:
    """Return the error for a plugin that cannot be read."""
    finding = Finding(code, message, Where(str(file), line), fix)
    return InvalidInput("the plugin's manifest cannot be made", findings=[finding])


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
