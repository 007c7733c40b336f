"""The results of a scan: distributions, their entry points of the tool group, and versions from their records."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH118, PTH119, PTH122
from __future__ import annotations

import os
import re
from dataclasses import field

from strands_cli.catalog.distributions.module_files import read_start
from strands_cli.errors import Code, Finding, Where
from strands_cli.quick_dataclass import dataclass

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

# What the names of all our groups begin with.
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


def read_entry_points(record: str, name: str, seen: Scan, group: str = GROUP) -> tuple[EntryPoint, ...]:
    """Return a group's entry points from a record's `entry_points.txt`; faults go to `seen.findings`."""
    file = f"{record}{os.sep}entry_points.txt"
    if (text := seen.texts.get(record)) is not None:
        return parse_entry_points(text, name, file, seen.findings, group) if text else ()
    try:
        raw = read_start(file, MAX_ENTRY_POINTS_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ()
    except OSError as error:
        message = f"the entry_points.txt of '{name}' cannot be read ({error.strerror})"
        seen.findings.append(Finding(UNREADABLE_DIRECTORY, message, Where(file), severity="warning"))
        return ()
    seen.texts[record] = raw if _PROJECT in raw.replace(b"\0", b"") else b""
    return parse_entry_points(raw, name, file, seen.findings, group)


def parse_entry_points(
    raw: bytes, name: str, file: str, findings: list[Finding], group: str = GROUP
) -> tuple[EntryPoint, ...]:
    """Return the entry points of the group; a file that does not contain the group's name is not parsed."""
    wanted = group.encode()
    if wanted not in raw and wanted not in raw.replace(b"\0", b""):
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
    found = []
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
            found.append(EntryPoint(key.strip(), value.strip(), number))
    return found
