"""Which distributions declare tools: directories and their `entry_points.txt`, read by hand, importing nothing."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH100, PTH109, PTH117, PTH118, PTH119, PTH120, PTH122, PTH208
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

from strands_cli.catalog.locate import read_start
from strands_cli.errors import Finding, Where

GROUP = "strands_cli.tools"
MAX_ENTRY_POINTS_BYTES = 1_000_000
MAX_METADATA_BYTES = 65_536

_OWN = (BuiltinImporter, FrozenImporter, PathFinder)
_SEPARATORS = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One line of the group: `name = value`, and its 1-based line."""

    name: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution that declares tools.

    Attributes:
        name: Normalised as in PEP 503 (`strands-tool-foo`).
        version: As installed, or None where no record says it.
        directory: The entry of `sys.path` it was found in.
        record: Its `*.dist-info` or `*.egg-info`.
        entry_points: Its lines of the group, in file order.
    """

    name: str
    version: str | None
    directory: str
    record: str
    entry_points: tuple[EntryPoint, ...]


@dataclass(slots=True)
class Scan:
    """Everything one pass over the directories has seen.

    Attributes:
        listings: Directory -> names in it, in path order; what `locate` searches without touching the disk again.
        distributions: Those that declare tools; of equal names only the first on the path.
        records: Normalised name -> (directory, record) of every copy, first the one that counts.
        findings: What is wrong with distributions that declare tools, or may.
    """

    listings: dict[str, frozenset[str]] = field(default_factory=dict)
    distributions: list[Distribution] = field(default_factory=list)
    records: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def version(self, name: str) -> str | None:
        """Return the version of an installed distribution (normalised name), None if it is absent or unknown."""
        copies = self.records.get(name)
        return record_version(copies[0][1]) if copies else None


def normalise(name: str) -> str:
    """Return a distribution's name as PEP 503 compares it."""
    return _SEPARATORS.sub("-", name).lower()


def search_path(path: Iterable[str] | None = None) -> list[str]:
    """Return the directories that may hold plugins, in order and without repetition.

    Without an argument this is `sys.path` less the current directory, the script's directory and every relative
    entry: a folder a person merely stands in must not become a source of plugins. A path that is given is taken as
    it is, but for `""`.
    """
    entries = list(sys.path) if path is None else [os.fspath(entry) for entry in path]
    kept = dict.fromkeys(entry for entry in entries if entry)
    if path is not None:
        return list(kept)
    barred = _barred()
    return [entry for entry in kept if os.path.isabs(entry) and _real(entry) not in barred]


def scan(path: Sequence[str]) -> Scan:
    """Read what the distributions in these directories declare under the group `strands_cli.tools`.

    The rules for names, precedence and line syntax are those of `importlib.metadata`, which a test holds equal; what
    makes that library raise is a finding here.
    """
    seen = Scan()
    for directory in path:
        _scan_entry(directory, seen)
    return seen


def scan_installed(path: Sequence[str] | None = None) -> Scan:
    """Scan the given directories, or everything this interpreter can import from, foreign finders included."""
    seen = scan(search_path(path))
    # The three finders of a plain interpreter find nothing that the directories do not have.
    if path is None and any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder not in _OWN):
        from strands_cli.catalog.foreign import scan_finders  # imports importlib.metadata

        scan_finders(seen)
    return seen


def record_version(record: str) -> str | None:
    """Return a distribution's version from its record's name, or its METADATA where the name has none."""
    stem, suffix = os.path.splitext(os.path.basename(record))
    version = stem.partition("-")[2] if suffix else ""
    if record.endswith(".egg-info"):
        version = version.partition("-")[0]  # the rest is the Python version: `foo-1.0-py3.11.egg-info`
    return version or read_header(record, "Version")


def read_header(record: str, word: str) -> str | None:
    """Return one header of a record's METADATA or PKG-INFO, None if it has none."""
    for file in ("METADATA", "PKG-INFO"):
        try:
            head = read_start(os.path.join(record, file), MAX_METADATA_BYTES)
        except OSError:
            continue
        for line in head.decode("utf-8", "replace").split("\n\n")[0].splitlines():
            key, colon, value = line.partition(":")
            if colon and key.strip().lower() == word.lower():
                return value.strip()
    return None


def _barred() -> set[str]:
    barred = set()
    with suppress(OSError):  # a current directory that was deleted holds no plugins
        barred.add(_real(os.getcwd()))
    script = sys.argv[0] if sys.argv else ""
    first = sys.path[0] if sys.path else ""
    if script and first and not sys.flags.safe_path:
        # Python puts the script's directory first; a later entry of the same name was put there on purpose.
        folder = _real(os.path.dirname(os.path.abspath(script)))
        if folder == _real(first) and first not in sys.path[1:]:
            barred.add(folder)
    return barred


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _scan_entry(directory: str, seen: Scan) -> None:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        from strands_cli.catalog.foreign import scan_archive  # few paths have archives

        scan_archive(directory, seen)
        return
    except OSError as error:
        message = f"{directory} cannot be read ({error.strerror})"
        seen.findings.append(Finding("unreadable-directory", message, Where(directory), severity="warning"))
        return
    seen.listings[directory] = frozenset(names)
    here: dict[str, str] = {}
    for name in names:
        lower = name.lower()
        if lower.endswith((".dist-info", ".egg-info")) or lower == "egg-info":
            _scan_record(directory, name, here, seen)


def _scan_record(directory: str, child: str, here: dict[str, str], seen: Scan) -> None:
    record = f"{directory}{os.sep}{child}"
    name = _record_name(directory, child, record)
    if name is None:
        return
    copies = seen.records.setdefault(name, [])
    copies.append((directory, record))
    first = here.setdefault(name, record)
    entry_points = None
    if len(copies) == 1 or first != record:
        entry_points = read_entry_points(record, name, seen)
    if first != record and (entry_points or any(d.record == first for d in seen.distributions)):
        seen.findings.append(_duplicate(name, first, record))
    if len(copies) == 1 and entry_points:
        seen.distributions.append(Distribution(name, record_version(record), directory, record, entry_points))


def _record_name(directory: str, child: str, record: str) -> str | None:
    stem, _, suffix = child.rpartition(".")
    if stem.strip(".") and suffix in ("dist-info", "egg-info"):
        return normalise(stem.partition("-")[0])
    if child.lower() == "egg-info" and not directory.lower().endswith(".egg"):
        return None
    # Neither suffix tells the name (`EGG-INFO`, `Foo.DIST-INFO`), so the record has to.
    told = read_header(record, "Name")
    return normalise(told) if told else None


def _duplicate(name: str, first: str, second: str) -> Finding:
    message = f"'{name}' is installed twice in one directory; {os.path.basename(first)} is used"
    fix = f"uninstall {name} until it is gone, then install it once"
    return Finding("duplicate-distribution", message, Where(second), fix)


def read_entry_points(record: str, name: str, seen: Scan) -> tuple[EntryPoint, ...]:
    """Read the group's lines of a record's `entry_points.txt`; what is wrong with it goes to `seen.findings`."""
    file = f"{record}{os.sep}entry_points.txt"
    try:
        raw = read_start(file, MAX_ENTRY_POINTS_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ()
    except OSError as error:
        message = f"what '{name}' declares cannot be read ({error.strerror})"
        seen.findings.append(Finding("unreadable-directory", message, Where(file), severity="warning"))
        return ()
    return parse_entry_points(raw, name, file, seen.findings)


def parse_entry_points(raw: bytes, name: str, file: str, findings: list[Finding]) -> tuple[EntryPoint, ...]:
    """Read the lines of our group; a stranger's file that does not name it is never looked at more closely."""
    group = GROUP.encode()
    if group not in raw and group not in raw.replace(b"\0", b""):
        return ()
    if len(raw) > MAX_ENTRY_POINTS_BYTES:
        message = f"the entry_points.txt of '{name}' is larger than {MAX_ENTRY_POINTS_BYTES:,} bytes"
        findings.append(Finding("bad-entry-points", message, Where(file)))
        return ()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        findings.append(
            Finding("bad-entry-points", f"the entry_points.txt of '{name}' is not UTF-8", Where(file, line))
        )
        return ()
    if text.startswith("\ufeff"):
        message = f"the entry_points.txt of '{name}' begins with a byte order mark, so Python's own reader misses tools"
        findings.append(Finding("bad-entry-points", message, Where(file, 1)))
    return tuple(_group_lines(text, name, file, findings))


def _group_lines(text: str, name: str, file: str, findings: list[Finding]) -> list[EntryPoint]:
    section = None
    found = []
    for number, written in enumerate(text.splitlines(), start=1):
        line = written.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line.strip("[]")
            continue
        key, equals, value = line.partition("=")
        if not equals and section is not None:
            message = f"a line in the entry_points.txt of '{name}' has no '=': {line[:80]!r}"
            findings.append(Finding("bad-entry-points", message, Where(file, number)))
        elif section == GROUP:
            found.append(EntryPoint(key.strip(), value.strip(), number))
    return found
