"""Find the distributions that declare tools: read directories and each `entry_points.txt`, importing nothing."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH100, PTH109, PTH117, PTH119, PTH120, PTH208
from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from typing import Any

from strands_cli.catalog.distributions.entry_points import (
    UNREADABLE_DIRECTORY,
    Distribution,
    EntryPoint,
    Scan,
    normalise,
    read_entry_points,
    read_header,
    record_version,
    reference_in,
)
from strands_cli.errors import Code, Finding, Where

DUPLICATE_DISTRIBUTION = Code(
    "duplicate-distribution",
    "One directory contains two versions of a distribution.",
    "Uninstall every version, then install one.",
)

_OWN = (BuiltinImporter, FrozenImporter, PathFinder)


def search_path(path: Iterable[str] | None = None) -> list[str]:
    """Return the directories that may contain plugins, in order and without repetition.

    By default this is `sys.path` without the current directory, the script's directory and every relative entry:
    plugins must not come from the folder in which a person happens to work. Of an explicit path only `""` is left out.
    """
    entries = list(sys.path) if path is None else [os.fspath(entry) for entry in path]
    unique = dict.fromkeys(entry for entry in entries if entry)
    if path is not None:
        return list(unique)
    barred = _barred()
    return [entry for entry in unique if os.path.isabs(entry) and _real(entry) not in barred]


def scan_path(path: Sequence[str]) -> Scan:
    """Return the distributions in these directories that declare tools in the group `strands_cli.tools`.

    The rules for names, precedence and line syntax are those of `importlib_metadata`, which a test verifies; input
    that makes that library raise is a finding here.
    """
    scan = Scan()
    for directory in path:
        _scan_entry(directory, scan)
    return scan


def scan_installed(path: Sequence[str] | None = None) -> Scan:
    """Scan these directories, or by default everything this interpreter imports from, also with other finders."""
    scan = scan_path(search_path(path))
    # The three finders of a plain interpreter only search the same directories.
    if path is None and any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder not in _OWN):
        from strands_cli.catalog.distributions.other_finders import scan_finders  # imports importlib.metadata

        scan_finders(scan)
    return scan


def _barred() -> set[str]:
    barred = set()
    with suppress(OSError):  # the current directory was deleted
        barred.add(_real(os.getcwd()))
    script = sys.argv[0] if sys.argv else ""
    first = sys.path[0] if sys.path else ""
    if script and first and not sys.flags.safe_path:
        # Python puts the script's directory first; a later entry of the same name is there on purpose.
        with suppress(OSError):
            folder = _real(os.path.dirname(os.path.abspath(script)))
            if folder == _real(first) and first not in sys.path[1:]:
                barred.add(folder)
    return barred


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _scan_entry(directory: str, scan: Scan) -> None:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        from strands_cli.catalog.distributions.other_finders import scan_archive  # few paths have archives

        scan_archive(directory, scan)
        return
    except OSError as error:
        message = f"{directory} cannot be read ({error.strerror})"
        scan.findings.append(Finding(UNREADABLE_DIRECTORY, message, Where(directory), severity="warning"))
        return
    scan.listings[directory] = frozenset(names)
    here: dict[str, str] = {}
    for name in names:
        lower = name.lower()
        if lower.endswith((".dist-info", ".egg-info")) or lower == "egg-info":
            _scan_record(directory, name, here, scan)


def _scan_record(directory: str, child: str, here: dict[str, str], scan: Scan) -> None:
    record = f"{directory}{os.sep}{child}"
    name = _record_name(directory, child, record)
    if name is None:
        return
    copies = scan.records.setdefault(name, [])
    copies.append((directory, record))
    first = here.setdefault(name, record)
    entry_points = None
    if len(copies) == 1 or first != record:
        entry_points = read_entry_points(record, name, scan)
    if first != record and (entry_points or any(d.record == first for d in scan.distributions)):
        scan.findings.append(installed_twice(name, first, record))
    if len(copies) == 1 and entry_points:
        scan.distributions.append(Distribution(name, record_version(record), directory, record, entry_points))


def _record_name(directory: str, child: str, record: str) -> str | None:
    stem, _, suffix = child.rpartition(".")
    if stem.strip(".") and suffix in ("dist-info", "egg-info"):
        return normalise(stem.partition("-")[0])
    if child.lower() == "egg-info" and not directory.lower().endswith(".egg"):
        return None
    # These forms (`EGG-INFO`, `Foo.DIST-INFO`) do not contain the name, so it comes from the metadata.
    stated = read_header(record, "Name")
    return normalise(stated) if stated else None


def installed_twice(name: str, first: str, second: str) -> Finding:
    """Report two records of one distribution in one directory; which of them is used is undefined."""
    message = f"'{name}' is installed twice in one directory; {os.path.basename(first)} is used"
    fix = f"uninstall every version of {name}, then install one"
    return Finding(DUPLICATE_DISTRIBUTION, message, Where(second), fix)


# The entry points of any group of installed distributions, found without an import.


def declared_points(group: str, scan: Scan | None = None) -> Iterator[tuple[str, EntryPoint]]:
    """Yield the name of a distribution with each of its entry points of a group; of equal names the first on the path.

    Faults in files of distributions are left out here: `list-tools` and `doctor` report them.
    """
    scan = scan_installed() if scan is None else scan
    for name, copies in scan.records.items():
        for point in read_entry_points(copies[0][1], name, scan, group):
            yield name, point


# Import the object that an entry point names.


def import_named(value: str) -> Any:
    """Return the object of a plugin's `module:attribute`; a file of the current directory is never imported.

    Raises:
        BaseException: every exception of its import.
    """
    module, attribute = reference_in(value)
    path = list(sys.path)
    sys.path[:] = search_path()
    try:
        named: Any = importlib.import_module(module)
    finally:
        sys.path[:] = path
    for part in attribute.split(".") if attribute else ():
        named = getattr(named, part)
    return named
