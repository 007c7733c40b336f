"""The meaning of a name `DIST/NAME`: one file of a packaged workflow or agent, or the folder of a packaged skill."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH112, PTH113, PTH117, PTH118, PTH122
from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from strands_cli.catalog.distributions.entry_points import (
    EntryPoint,
    Scan,
    find_package,
    normalise,
    parse_entry_points,
    read_start,
    record_version,
)
from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.errors import Code, Finding, Where, did_you_mean
from strands_cli.quick_dataclass import dataclass

# The folders of workflows, agents and skills that installed distributions declare by entry points.


BAD_PACKAGED = Code(
    "bad-packaged",
    "An entry point of workflows, agents or skills does not name a folder inside its own package.",
    "Write `NAME = package:folder`, with a folder in the wheel.",
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
        """The kind of its files."""
        return GROUPS[self.group]


def scan_packaged(path: Sequence[str] | None = None) -> tuple[tuple[PackagedFolder, ...], tuple[Finding, ...]]:
    """Return the folders of all installed distributions, by distribution, group and name, and their faults.

    Args:
        path: As `discover_catalog` takes it.
    """
    return _read_all(scan_installed(path), None)


def read_packaged(
    distribution: str, path: Sequence[str] | None = None
) -> tuple[tuple[PackagedFolder, ...], tuple[Finding, ...]] | None:
    """Return the folders of one distribution, in any spelling of its name; None if it is not installed."""
    scan = scan_installed(path)
    name = normalise(distribution)
    return _read_all(scan, name) if name in scan.records else None


def _read_all(scan: Scan, only: str | None) -> tuple[tuple[PackagedFolder, ...], tuple[Finding, ...]]:
    folders: list[PackagedFolder] = []
    findings: list[Finding] = []
    for name in sorted(scan.records) if only is None else [only]:
        directory, record = scan.records[name][0]
        for group, entry in _entry_points(record, name, findings):
            folder = packaged_folder(entry, group, name, (directory, record), scan)
            if isinstance(folder, Finding):
                findings.append(folder)
            else:
                folders.append(folder)
    unique = dict.fromkeys(
        sorted(folders, key=lambda packaged: (packaged.distribution, packaged.group, packaged.name, packaged.folder))
    )
    return tuple(unique), tuple(dict.fromkeys(findings))


def _entry_points(record: str, name: str, findings: list[Finding]) -> Iterator[tuple[str, EntryPoint]]:
    file = os.path.join(record, "entry_points.txt")
    try:
        raw = read_start(file, _MAX_BYTES + 1)
    except OSError:
        return  # the scan of tools reports unreadable files
    for group in GROUPS:
        entry_points = parse_entry_points(raw, name, file, findings, group)
        if len(entry_points) > _MAX_ENTRIES:
            message = f"'{name}' has {len(entry_points):,} entry points in {group}; {_MAX_ENTRIES} are read"
            findings.append(Finding(BAD_PACKAGED, message, Where(file)))
        yield from ((group, entry) for entry in entry_points[:_MAX_ENTRIES])


def packaged_folder(
    entry: EntryPoint, group: str, distribution: str, directory_and_record: tuple[str, str], scan: Scan
) -> PackagedFolder | Finding:
    """Return the folder that an entry point names, or why it names none.

    Args:
        directory_and_record: The directory that the distribution's packages are imported from, and its `*.dist-info`.
        scan: The names in the directories of the path.
    """
    directory, record = directory_and_record
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
    top = find_package(package.partition(".")[0], scan.listings, directory)
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
    path = os.path.join(home, folder)
    if os.path.isdir(path):
        return f"names {folder[:80]!r}, from which a link leads out of the package"
    return f"names {folder[:80]!r}, which is {'a file' if os.path.isfile(path) else 'missing'} in {home}"


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path without links is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


UNKNOWN_PACKAGED = Code(
    "unknown-packaged",
    "No installed distribution brings a workflow, agent or skill of this name.",
    "See what is installed: strands workflows list",
    2,
)
AMBIGUOUS_PACKAGED = Code(
    "ambiguous-packaged",
    "Two files of a distribution have the name that `DIST/NAME` means.",
    "Name the file by its path.",
    2,
)

# Of a folder no more names are looked at; a finding says so.
MAX_FILES = 1_000
_SUFFIXES = (".yaml", ".yml", ".json")
# Of the files beside workflows and agents: their recordings and tests.
_BESIDE = (".recording", ".tests")
SKILL = "SKILL.md"
_COMMANDS = {
    "workflow": "strands run {}",
    "agent": "strands workflows agent run {}",
    "skill": "`path: package:{}` in `skills`",
}


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A workflow, agent or skill of an installed distribution.

    Attributes:
        name: Its own name, the part of `ref` after the slash.
        path: The file, or the folder of a skill; absolute, without links, inside `home.folder`.
        home: The folder that its distribution declares.
    """

    name: str
    path: str
    home: PackagedFolder

    @property
    def ref(self) -> str:
        """The name `DIST/NAME` that commands take."""
        return f"{self.home.distribution}/{self.name}"

    @property
    def kind(self) -> PackagedKind:
        """Its kind."""
        return self.home.kind


def is_packaged_name(text: str) -> bool:
    """Return whether a text has the form `DIST/NAME`; `./` and a suffix of a file always mean a path."""
    distribution, slash, name = text.partition("/")
    return bool(slash and NAME.fullmatch(distribution) and NAME.fullmatch(name) and not name.endswith(_SUFFIXES))


def is_installed(text: str) -> bool:
    """Return whether the distribution of a name `DIST/NAME` brings workflows, agents or skills."""
    read = read_packaged(text.partition("/")[0])
    return read is not None and any(read)


def find_packaged(
    text: str, kind: PackagedKind = "workflow", path: Sequence[str] | None = None
) -> PackagedFile | Finding:
    """Return the file of `DIST/NAME`, or the finding with the reason why there is none.

    It is the file `NAME.yaml` of one of the distribution's folders of that kind, or the file `workflow.yaml`
    (`agent.yaml`) of the folder whose entry point is NAME. A skill is a folder with a SKILL.md.

    Args:
        text: The name, without `package:`; the distribution in any spelling.
        path: As `discover_catalog` takes it.
    """
    distribution, _, name = text.partition("/")
    read = read_packaged(distribution, path)
    if read is None:
        names = sorted({folder.distribution for folder in scan_packaged(path)[0]})
        close = did_you_mean(normalise(distribution), names)
        fix = _instead(f"{close}/{name}", kind) if close else None
        return Finding(UNKNOWN_PACKAGED, f"no distribution {distribution!r} is installed", None, fix)
    folders, findings = read
    files = _candidates(folders, kind, name)
    if len(files) == 1:
        return files[0]
    if files:
        places = " and ".join(file.path for file in files)
        return Finding(AMBIGUOUS_PACKAGED, f"{text!r} may be {places}", Where(files[0].path))
    ending = f" ({'; '.join(finding.message for finding in findings)})" if findings else ""
    message = f"the distribution '{normalise(distribution)}' has no {kind} {name!r}{ending}"
    return Finding(UNKNOWN_PACKAGED, message, None, _fix(normalise(distribution), name, kind, folders))


def _candidates(folders: Iterable[PackagedFolder], kind: PackagedKind, name: str) -> list[PackagedFile]:
    candidates: dict[str, PackagedFile] = {}
    for folder in folders:
        if folder.kind != kind:
            continue
        for path in _places(folder, name):
            real = os.path.realpath(path)
            exists = os.path.isfile(os.path.join(real, SKILL)) if kind == "skill" else os.path.isfile(real)
            # A link may not lead out of the folder that the distribution declares.
            if exists and is_inside(real, folder.folder):
                candidates.setdefault(real, PackagedFile(name, real, folder))
    return list(candidates.values())


def _places(folder: PackagedFolder, name: str) -> list[str]:
    if folder.kind == "skill":
        return [os.path.join(folder.folder, name), *([folder.folder] if folder.name == name else [])]
    stems = [name, *([folder.kind] if folder.name == name else [])]
    for stem in stems:  # a file of the very name wins over the general one
        places = [os.path.join(folder.folder, stem + suffix) for suffix in _SUFFIXES]
        if any(map(os.path.isfile, places)):
            return places
    return []


def files_in(folder: PackagedFolder) -> tuple[tuple[PackagedFile, ...], tuple[Finding, ...]]:
    """Return the possible workflows or agents of a folder, or its skills, by name, and their faults.

    Names that begin with a dot are left out; so are files in folders below, which no name reaches.
    """
    findings: list[Finding] = []
    try:
        with os.scandir(folder.folder) as entries:
            names = sorted(entry.name for entry in islice(entries, MAX_FILES + 1))
    except OSError as error:
        message = f"the folder of the entry point {folder.name!r} cannot be read: {error.strerror}"
        return (), (Finding(BAD_PACKAGED, message, Where(folder.folder)),)
    if len(names) > MAX_FILES:
        message = f"the folder has more than {MAX_FILES:,} files; the others are not looked at"
        findings.append(Finding(BAD_PACKAGED, message, Where(folder.folder), "divide it", "warning"))
    files: list[PackagedFile] = []
    for file in ["", *names[:MAX_FILES]] if folder.kind == "skill" else names[:MAX_FILES]:
        name = _name_of(file, folder)
        path = os.path.join(folder.folder, file) if file else folder.folder
        if name is None or not NAME.fullmatch(name):
            continue
        real = os.path.realpath(path)
        if not is_inside(real, folder.folder):
            findings.append(Finding(BAD_PACKAGED, "a link leads out of the folder", Where(path), "remove the link"))
        elif os.path.isfile(os.path.join(real, SKILL)) if folder.kind == "skill" else os.path.isfile(real):
            files.append(PackagedFile(name, real, folder))
    return tuple(files), tuple(findings)


def _name_of(file: str, folder: PackagedFolder) -> str | None:
    """Return the name that reaches a file; None for one without a name."""
    if folder.kind == "skill":
        return file or folder.name
    stem, suffix = os.path.splitext(file)
    if suffix not in _SUFFIXES or stem == "tests" or stem.endswith(_BESIDE):
        return None
    return folder.name if stem == folder.kind else stem


def _fix(distribution: str, name: str, kind: PackagedKind, folders: Sequence[PackagedFolder]) -> str | None:
    others: list[PackagedKind] = ["workflow", "agent", "skill"]
    for other in others:
        if other != kind and _candidates(folders, other, name):
            return f"it is {'an' if other == 'agent' else 'a'} {other}: {_instead(f'{distribution}/{name}', other)}"
    names = sorted({file.name for folder in folders if folder.kind == kind for file in files_in(folder)[0]})
    close = did_you_mean(name, names)
    if close:
        return f"did you mean {_instead(f'{distribution}/{close}', kind)}?"
    return f"name one that it has: {', '.join(names[:10])}" if names else None


def _instead(ref: str, kind: PackagedKind) -> str:
    return _COMMANDS[kind].format(shlex.quote(ref))
