"""A distribution's RECORD: which files it has installed, with their hashes and sizes."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from strands_cli.catalog.module_files import read_start
from strands_cli.lock.file_digests import MAX_RECORD_BYTES


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """One row: the path as written, the hash (`sha256=...`) and the size, each empty where the row has none."""

    path: str
    digest: str
    size: str


def read_record(dist_info: str) -> list[RecordedFile] | None:
    """Return the rows of a RECORD, None where there is none that can be read."""
    try:
        raw = read_start(str(Path(dist_info) / "RECORD"), MAX_RECORD_BYTES)
    except OSError:
        return None
    rows = csv.reader(raw.decode("utf-8", "surrogateescape").splitlines())
    return [RecordedFile(*[*row, "", ""][:3]) for row in rows if row and row[0]]


def installed_paths(site: str, dist_info: str) -> set[str]:
    """Return where a distribution's files lie, absolute and in one spelling."""
    return {place(site, row.path) for row in read_record(dist_info) or ()}


def place(site: str, path: str) -> str:
    """Return a recorded path as an absolute one, in one spelling."""
    return os.path.normcase(os.path.normpath(Path(site) / path))


def owner_of(path: str, records: dict[str, list[tuple[str, str]]]) -> str | None:
    """Return the installed distribution whose RECORD has a file (as `place` spells it), None where none has."""
    for name, copies in _copies(records):
        if path in installed_paths(*copies):
            return name
    return None


def _copies(records: dict[str, list[tuple[str, str]]]) -> Iterator[tuple[str, tuple[str, str]]]:
    for name, copies in records.items():
        for copy in copies:
            yield name, copy
