"""A plugin project: a source tree or an installed distribution, with its entry points and packages."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_cli.catalog import MISSING_MODULE
from strands_cli.catalog.distributions import GROUP, normalise
from strands_cli.catalog.files import Package, find_package
from strands_cli.errors import Code, Finding, InvalidInput, Where, suggest

BAD_PLUGIN = Code(
    "bad-plugin",
    "A plugin project cannot be read, or its code cannot be loaded to describe it.",
    "Correct what the message names.",
)
UNKNOWN_DISTRIBUTION = Code(
    "unknown-distribution",
    "No installed distribution with this name declares tools.",
    "Correct the name, or install it.",
)

_VALUE = re.compile(r"([\w.]+)(?::([\w.]+))?(?:\[.*\])?")


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
    """

    directory: Path
    name: str
    entry_points: Mapping[str, str]
    source: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    installed: Mapping[str, frozenset[str]] | None = None

    @property
    def declared_in(self) -> Path:
        """The file that declares the entry points."""
        return self.directory / ("pyproject.toml" if self.installed is None else "entry_points.txt")


def read_project(directory: Path) -> PluginProject:
    """Read the `pyproject.toml` of a plugin.

    Raises:
        InvalidInput: It is missing or malformed, or declares no tool.
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
    points = _table(_table(project.get("entry-points")).get(GROUP))
    if not isinstance(project.get("name"), str) or not points:
        fix = f'add [project.entry-points."{GROUP}"] with a line: name = "package.module"'
        raise unusable(f"pyproject.toml declares no entry point in the group {GROUP!r}", file, fix)
    if wrong := [name for name, value in points.items() if not isinstance(value, str)]:
        raise unusable(f"the entry point '{wrong[0]}' is not text", file, f'write {wrong[0]} = "package.module"')
    source = directory / "src"
    return PluginProject(directory, project["name"], points, source if source.is_dir() else directory, settings)


def find_installed(name: str) -> PluginProject:
    """Find an installed distribution that declares tools.

    Raises:
        InvalidInput: No installed distribution has this name.
    """
    from strands_cli.catalog.distributions import scan_installed

    seen = scan_installed()
    for found in seen.distributions:
        if found.name == normalise(name):
            points = {point.name: point.value for point in found.entry_points}
            record, source = Path(found.record), Path(found.directory)
            return PluginProject(record, found.name, points, source, installed=seen.listings)
    if normalise(name) in seen.records:
        message = f"the distribution '{name}' is installed, but declares no tool (entry points of {GROUP!r})"
        raise InvalidInput(message, findings=[Finding(UNKNOWN_DISTRIBUTION, message)])
    otherwise = "name an installed distribution, or a directory with a pyproject.toml"
    fix = suggest(normalise(name), [found.name for found in seen.distributions], otherwise)
    message = f"no distribution '{name}' is installed, and there is no such directory"
    raise InvalidInput(message, findings=[Finding(UNKNOWN_DISTRIBUTION, message, fix=fix)])


def split_reference(value: str) -> tuple[str, str | None] | None:
    """Return the module and the attribute that an entry point's value names; None if the value is malformed."""
    found = _VALUE.fullmatch("".join(value.split()))
    if found is None:
        return None
    parts = ".".join(filter(None, found.groups())).split(".")
    return (found[1], found[2]) if all(part.isidentifier() for part in parts) else None


def package_of(project: PluginProject, module: str) -> Package:
    """Find the top-level package of a module.

    Raises:
        InvalidInput: It does not exist, or is a single file, which cannot contain a manifest.
    """
    listings = project.installed or {str(project.source): frozenset(os.listdir(project.source))}  # noqa: PTH208 - names
    package = find_package(module.partition(".")[0], listings, str(project.source))
    place = (package.directory or package.file) if package else None
    if package is None or place is None or not (project.installed or Path(place).is_relative_to(project.source)):
        raise unusable(f"the module '{module}' is not in {project.source}", project.declared_in, code=MISSING_MODULE)
    if package.directory is None:
        fix = f"make it a package: {package.name}/__init__.py"
        raise unusable(f"'{module}' is a single file, which cannot contain a manifest", Path(place), fix)
    return package


def unusable(
    message: str, file: Path, fix: str | None = None, line: int | None = None, code: Code = BAD_PLUGIN
) -> InvalidInput:
    """Return the error for a plugin that cannot be read."""
    finding = Finding(code, message, Where(str(file), line), fix)
    return InvalidInput("the plugin's manifest cannot be made", findings=[finding])


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
