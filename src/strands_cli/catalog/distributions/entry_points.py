"""The results of a scan: distributions, their entry points of the tool group, and versions from their records."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH113, PTH116, PTH118, PTH119, PTH122
from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import field
from importlib.machinery import EXTENSION_SUFFIXES, BuiltinImporter, FrozenImporter, PathFinder

from strands_cli.errors import Code, Finding, Where
from strands_cli.quick_dataclass import dataclass

# Find a module's files without importing anything, not even its parents.


_CHUNK = 65_536
# O_NONBLOCK: opening a named pipe must not wait for a writer.
READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK"))
_ABSENT = (FileNotFoundError, NotADirectoryError)
_SUFFIXES = (".py", *EXTENSION_SUFFIXES, ".pyc")


@dataclass(frozen=True, slots=True)
class Package:
    """A top-level package or module.

    Attributes:
        name: Its import name.
        directory: Its folder; None for a single file.
        file: Its `__init__` or its single file; None for a namespace package.
    """

    name: str
    directory: str | None
    file: str | None


def find_package(name: str, listings: Mapping[str, frozenset[str]], home: str | None = None) -> Package | None:
    """Find a top-level package as the import system does, in these directories.

    Args:
        name: Without dots: a dotted name would import the parent.
        listings: Directory -> names in it, in path order.
        home: The directory whose part of a namespace package is preferred.

    Returns:
        The first regular package or module on the path, else the namespace package, else the result of other finders
        (those of editable installs), else None.
    """
    namespace: str | None = None
    for directory, names in listings.items():
        folder = f"{directory}{os.sep}{name}"
        if name in names:
            init = _first_file(f"{folder}{os.sep}__init__")
            if init:
                return Package(name, folder, init)
        for suffix in _SUFFIXES:
            if name + suffix in names:
                return Package(name, None, folder + suffix)
        if name in names and (namespace is None or directory == home) and is_directory(folder):
            namespace = folder
    return Package(name, namespace, None) if namespace else _ask_finders(name)


def _ask_finders(name: str) -> Package | None:
    for finder in sys.meta_path:
        if finder in (BuiltinImporter, FrozenImporter, PathFinder):
            continue  # these search the same directories, or worse, the current directory
        try:
            spec = finder.find_spec(name, None)
        except Exception:  # noqa: BLE001, S112 - another package's finder that raises has not found it
            continue
        if spec is None:
            continue
        folders = list(spec.submodule_search_locations or ())
        file = spec.origin if spec.has_location else None
        if folders or file:
            return Package(name, folders[0] if folders else None, file)
    return None


def module_file(package: Package, module: str) -> str | None:
    """Return the file of a dotted module inside its package; None if it does not exist."""
    parts = module.split(".")[1:]
    if not parts:
        return package.file
    if package.directory is None:
        return None
    stem = os.sep.join((package.directory, *parts))
    # A package takes precedence over a module with the same name; most modules have no folder, so one check saves many.
    init = _first_file(os.path.join(stem, "__init__")) if is_directory(stem) else None
    return init or _first_file(stem)


def manifest_directory(package: Package, module: str) -> str | None:
    """Return the folder of the module's manifest: its outermost regular package."""
    folder = package.directory
    if folder is None or package.file is not None:
        return folder
    for part in module.split(".")[1:]:
        folder = os.path.join(folder, part)
        if _first_file(os.path.join(folder, "__init__")):
            return folder
    return package.directory


def read_file(path: str, limit: int) -> bytes | None:
    """Return up to `limit + 1` bytes of a file, also of one inside a zip archive; None if it does not exist.

    Raises:
        OSError: It exists and cannot be read.
    """
    try:
        return read_start(path, limit + 1)
    except _ABSENT:
        return _read_zipped(path, limit)


def read_start(path: str, count: int) -> bytes:
    """Return the first `count` bytes of a file on disk.

    It reads small blocks from the descriptor: a buffered file, or one large read, takes several times as long.

    Raises:
        OSError: It cannot be read.
    """
    descriptor = os.open(path, READ_FLAGS)
    try:
        start = chunk = os.read(descriptor, min(count, _CHUNK))
        while len(chunk) == _CHUNK and len(start) < count:
            chunk = os.read(descriptor, min(count - len(start), _CHUNK))
            start += chunk
    finally:
        os.close(descriptor)
    return start


def is_directory(path: str) -> bool:
    """Return whether the path is a folder, on disk or in a zip archive."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except _ABSENT as error:
        return _may_be_zipped(error) and any(name.startswith(inner + "/") for inner, name in _zipped_names(path))
    except OSError:
        return False


def is_file(path: str) -> bool:
    """Return whether the path is a file, on disk or in a zip archive."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except _ABSENT as error:
        return _may_be_zipped(error) and any(name == inner for inner, name in _zipped_names(path))
    except OSError:
        return False


def _may_be_zipped(error: OSError) -> bool:
    # "Not a directory" means that a parent is a file; Windows does not distinguish the two errors.
    return isinstance(error, NotADirectoryError) or os.name == "nt"


def _first_file(stem: str) -> str | None:
    for suffix in _SUFFIXES:
        if is_file(stem + suffix):
            return stem + suffix
    return None


def _archive_of(path: str) -> tuple[str, str] | None:
    archive, inner = path, ""
    while not os.path.lexists(archive):
        archive, tail = os.path.split(archive)
        if not tail:
            return None
        inner = f"{tail}/{inner}" if inner else tail
    return (archive, inner) if inner and os.path.isfile(archive) else None


def _zipped_names(path: str) -> list[tuple[str, str]]:
    split = _archive_of(path)
    if split is None:
        return []
    import zipfile  # few paths have archives

    try:
        with zipfile.ZipFile(split[0]) as opened:
            return [(split[1], name) for name in opened.namelist()]
    except (OSError, zipfile.BadZipFile):
        return []


def _read_zipped(path: str, limit: int) -> bytes | None:
    split = _archive_of(path)
    if split is None:
        return None
    import zipfile  # few paths have archives

    try:
        with zipfile.ZipFile(split[0]) as opened, opened.open(split[1]) as stream:
            return stream.read(limit + 1)
    except (KeyError, zipfile.BadZipFile):
        return None


UNREADABLE_DIRECTORY = Code(
    "unreadable-directory",
    "A directory of sys.path, or a distribution in it, cannot be read.",
    "Correct its permissions or remove it.",
)
BAD_ENTRY_POINTS = Code(
    "bad-entry-points",
    "A distribution's entry_points.txt cannot be read, or has a malformed line.",
    "Reinstall the distribution, or report it to its author.",
)

GROUP = "strands_cli.tools"
MAX_ENTRY_POINTS_BYTES = 1_000_000
MAX_METADATA_BYTES = 65_536

# The prefix of the names of all our groups.
_PROJECT = b"strands_cli."
_SEPARATORS = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One entry point: `name = value`, and its 1-based line."""

    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution that declares tools.

    Attributes:
        name: Normalised as in PEP 503 (`strands-tool-yours`).
        version: The installed version; None if its record does not state one.
        directory: The entry of `sys.path` it was found in.
        record: Its `*.dist-info` or `*.egg-info`.
        entry_points: Its entry points of the group, in file order.
    """

    name: str
    version: str | None
    directory: str
    record: str
    entry_points: tuple[EntryPoint, ...]


@dataclass(slots=True)
class Scan:
    """Everything that one pass over the directories finds.

    Attributes:
        listings: Directory -> names in it, in path order, so that later searches do not read the disk again.
        distributions: Those that declare tools; of equal names only the first on the path.
        records: Normalised name -> (directory, record) of every copy; Python imports the first.
        findings: The faults of distributions that declare tools, or may declare them.
        texts: Record -> the text of its entry points, read once for all groups; empty where it has none of ours.
    """

    listings: dict[str, frozenset[str]] = field(default_factory=dict)
    distributions: list[Distribution] = field(default_factory=list)
    records: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)

    def version(self, name: str) -> str | None:
        """Return the version of an installed distribution, in any spelling; None if it is absent or unknown."""
        copies = self.records.get(normalise(name))
        return record_version(copies[0][1]) if copies else None


def normalise(name: str) -> str:
    """Return a distribution's name in the normalised form of PEP 503."""
    return _SEPARATORS.sub("-", name).lower()


def record_version(record: str) -> str | None:
    """Return a distribution's version from its record's name, or from METADATA if the name has no version."""
    stem, suffix = os.path.splitext(os.path.basename(record))
    version = stem.partition("-")[2] if suffix else ""
    if record.endswith(".egg-info"):
        version = version.partition("-")[0]  # the rest is the Python version: `foo-1.0-py3.11.egg-info`
    return version or read_header(record, "Version")


def read_header(record: str, header: str) -> str | None:
    """Return one header of a record's METADATA or PKG-INFO; None if it is missing."""
    for file in ("METADATA", "PKG-INFO"):
        try:
            head = read_start(os.path.join(record, file), MAX_METADATA_BYTES)
        except OSError:
            continue
        for line in head.decode("utf-8", "replace").split("\n\n")[0].splitlines():
            key, colon, value = line.partition(":")
            if colon and key.strip().lower() == header.lower():
                return value.strip()
    return None


def reference_in(value: str) -> tuple[str, str]:
    """Return the module and the attribute that an entry point names, without its extras (`mod:attr [extra]`)."""
    module, _, attribute = "".join(value.split()).partition("[")[0].partition(":")
    return module, attribute


def read_entry_points(record: str, name: str, scan: Scan, group: str = GROUP) -> tuple[EntryPoint, ...]:
    """Return a group's entry points from a record's `entry_points.txt`; faults go to `scan.findings`."""
    file = f"{record}{os.sep}entry_points.txt"
    if (text := scan.texts.get(record)) is not None:
        return parse_entry_points(text, name, file, scan.findings, group) if text else ()
    try:
        raw = read_start(file, MAX_ENTRY_POINTS_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ()
    except OSError as error:
        message = f"the entry_points.txt of '{name}' cannot be read ({error.strerror})"
        scan.findings.append(Finding(UNREADABLE_DIRECTORY, message, Where(file), severity="warning"))
        return ()
    scan.texts[record] = raw if _PROJECT in raw.replace(b"\0", b"") else b""
    return parse_entry_points(raw, name, file, scan.findings, group)


def parse_entry_points(
    raw: bytes, name: str, file: str, findings: list[Finding], group: str = GROUP
) -> tuple[EntryPoint, ...]:
    """Return the entry points of the group; a file that does not contain the group's name is not parsed."""
    group_name = group.encode()
    if group_name not in raw and group_name not in raw.replace(b"\0", b""):
        if group == GROUP and (line := _garbage(raw)):
            message = f"the entry_points.txt of '{name}' is damaged, so what it declares is unknown"
            findings.append(Finding(BAD_ENTRY_POINTS, message, Where(file, line), severity="warning"))
        return ()
    if len(raw) > MAX_ENTRY_POINTS_BYTES:
        message = f"the entry_points.txt of '{name}' is larger than {MAX_ENTRY_POINTS_BYTES:,} bytes"
        findings.append(Finding(BAD_ENTRY_POINTS, message, Where(file)))
        return ()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        findings.append(Finding(BAD_ENTRY_POINTS, f"the entry_points.txt of '{name}' is not UTF-8", Where(file, line)))
        return ()
    if text.startswith("\ufeff"):
        message = f"the entry_points.txt of '{name}' begins with a byte order mark, so Python itself misses tools"
        findings.append(Finding(BAD_ENTRY_POINTS, message, Where(file, 1)))
    return tuple(_group_lines(text, name, file, findings, group))


def _garbage(raw: bytes) -> int | None:
    """Return the line where a file that does not have the group is surely damaged, so that it may have had it.

    A line without a section is; other faults count only in a file that may be one of ours.
    """
    first = raw.lstrip()[:1]
    if first in b"[#" and b"strands" not in raw:
        return None
    for number, written in enumerate(raw.splitlines(), start=1):
        line = written.strip()
        if line and line[:1] != b"#":
            is_header = line[:1] == b"[" and line[-1:] == b"]"
            if not is_header and (first not in b"[#" or b"=" not in line):
                return number
    return None


def _group_lines(text: str, name: str, file: str, findings: list[Finding], group: str) -> list[EntryPoint]:
    section = None
    entry_points = []
    for number, written in enumerate(text.splitlines(), start=1):
        line = written.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line.strip("[]")
            if section != group and "".join(section.split()).lower() == group:
                message = (
                    f"a section in the entry_points.txt of '{name}' is written {line[:80]!r}, which is another name"
                )
                findings.append(Finding(BAD_ENTRY_POINTS, message, Where(file, number)))
            continue
        key, equals, value = line.partition("=")
        is_lost = section is None and group == GROUP and text[0] != "\ufeff"
        if is_lost or (not equals and section is not None):
            fault = "is in no section" if equals else "has no '='"
            message = f"a line in the entry_points.txt of '{name}' {fault}: {line[:80]!r}"
            findings.append(Finding(BAD_ENTRY_POINTS, message, Where(file, number)))
        elif section == group:
            entry_points.append(EntryPoint(key.strip(), value.strip(), number))
    return entry_points
