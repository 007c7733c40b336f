"""The folders of workflows, agents and skills that installed distributions declare by entry points."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH112, PTH113, PTH117, PTH118
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from strands_cli.catalog.distributions.entry_points import (
    EntryPoint,
    Scan,
    normalise,
    parse_entry_points,
    record_version,
)
from strands_cli.catalog.distributions.module_files import find_package, read_start
from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.errors import Code, Finding, Where
from strands_cli.quick_dataclass import dataclass

BAD_PACKAGED = Code(
    "bad-packaged",
    "An entry point of workflows, agents or skills does not name a folder inside its own package.",
    "Write `NAME = package:folder`, with a folder that is in the wheel, or report it to the author.",
)

PackagedKind = Literal["workflow", "agent", "skill"]
GROUPS: dict[str, PackagedKind] = {
    "strands_cli.workflows": "workflow",
    "strands_cli.agents": "agent",
    "strands_cli.skills": "skill",
}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VALUE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*:\s*([^\s].*)")
# As long as a file of entry points that the scan of tools accepts.
_MAX_BYTES = 1_000_000
_MAX_ENTRIES = 500


@dataclass(frozen=True, slots=True)
class PackagedFolder:
    """A folder of an installed distribution with workflows, agents or skills.

    Attributes:
        name: That of the entry point.
        group: The entry-point group, a key of `GROUPS`.
        distribution: Normalised as in PEP 503.
        version: The installed version; None if its record does not state one.
        package: The dotted name of the import package that contains it.
        folder: Its absolute path, without links.
        record: The `*.dist-info` of the distribution.
    """

    name: str
    group: str
    distribution: str
    version: str | None
    package: str
    folder: str
    record: str

    @property
    def kind(self) -> PackagedKind:
        """What its files are."""
        return GROUPS[self.group]


def scan_packaged(path: Sequence[str] | None = None) -> tuple[tuple[PackagedFolder, ...], tuple[Finding, ...]]:
    """Return the folders of all installed distributions, by distribution, group and name, and what is wrong.

    Args:
        path: As `discover_catalog` takes it.
    """
    return _read_all(scan_installed(path), None)


def read_packaged(
    distribution: str, path: Sequence[str] | None = None
) -> tuple[tuple[PackagedFolder, ...], tuple[Finding, ...]] | None:
    """Return what one distribution, in any spelling of its name, brings; None if it is not installed."""
    seen = scan_installed(path)
    name = normalise(distribution)
    return _read_all(seen, name) if name in seen.records else None


def _read_all(seen: Scan, only: str | None) -> tuple[tuple[PackagedFolder, ...], tuple[Finding, ...]]:
    folders: list[PackagedFolder] = []
    findings: list[Finding] = []
    for name in sorted(seen.records) if only is None else [only]:
        directory, record = seen.records[name][0]
        for group, entry in _entry_points(record, name, findings):
            found = packaged_folder(entry, group, name, (directory, record), seen)
            if isinstance(found, Finding):
                findings.append(found)
            else:
                folders.append(found)
    unique = dict.fromkeys(sorted(folders, key=lambda one: (one.distribution, one.group, one.name, one.folder)))
    return tuple(unique), tuple(dict.fromkeys(findings))


def _entry_points(record: str, name: str, findings: list[Finding]) -> Iterator[tuple[str, EntryPoint]]:
    file = os.path.join(record, "entry_points.txt")
    try:
        raw = read_start(file, _MAX_BYTES + 1)
    except OSError:
        return  # the scan of tools reports what cannot be read
    for group in GROUPS:
        found = parse_entry_points(raw, name, file, findings, group)
        if len(found) > _MAX_ENTRIES:
            message = f"'{name}' has {len(found):,} entry points in {group}; {_MAX_ENTRIES} are read"
            findings.append(Finding(BAD_PACKAGED, message, Where(file)))
        yield from ((group, entry) for entry in found[:_MAX_ENTRIES])


def packaged_folder(
    entry: EntryPoint, group: str, distribution: str, place: tuple[str, str], seen: Scan
) -> PackagedFolder | Finding:
    """Return the folder that an entry point names, or why it names none.

    Args:
        place: The directory that the distribution's packages are imported from, and its `*.dist-info`.
        seen: The names in the directories of the path.
    """
    directory, record = place
    where = Where(os.path.join(record, "entry_points.txt"), entry.line)

    def bad(reason: str) -> Finding:
        return Finding(BAD_PACKAGED, f"the entry point {entry.name!r} of '{distribution}' ({group}) {reason}", where)

    if not NAME.fullmatch(entry.name):
        return bad("has a name that cannot be typed: letters, digits, '.', '_' and '-' are possible")
    written = _VALUE.fullmatch(entry.value)
    if written is None:
        return bad(f"is {entry.value[:80]!r}, not `package:folder`")
    package, folder = written[1], written[2].strip()
    parts = folder.split("/")
    if os.path.isabs(folder) or "\\" in folder or "\0" in folder or ".." in parts or ":" in folder:
        return bad(f"names {folder[:80]!r}, which is not a folder inside the package")
    top = find_package(package.partition(".")[0], seen.listings, directory)
    if top is None or top.directory is None:
        return bad(f"names the package {package!r}, which is not installed as a folder")
    home = os.path.join(top.directory, *package.split(".")[1:])
    return _checked(entry, (group, distribution, package, record), home, parts) or bad(_reason(home, folder))


def _checked(
    entry: EntryPoint, names: tuple[str, str, str, str], home: str, parts: Iterable[str]
) -> PackagedFolder | None:
    group, distribution, package, record = names
    real = os.path.realpath(os.path.join(home, *(part for part in parts if part != ".")))
    if not is_inside(real, os.path.realpath(home)) or not os.path.isdir(real):
        return None
    return PackagedFolder(entry.name, group, distribution, record_version(record), package, real, record)


def _reason(home: str, folder: str) -> str:
    place = os.path.join(home, folder)
    if os.path.isdir(place):
        return f"names {folder[:80]!r}, from which a link leads out of the package"
    return f"names {folder[:80]!r}, which is {'a file' if os.path.isfile(place) else 'missing'} in {home}"


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path without links is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
