"""The file of a journal without rows, and what a process leaves that dies while it makes one."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sqlite3
from pathlib import Path

from strands_cli.engine.journal.journal_files import DATABASE
from strands_cli.errors import CannotStore, RunRecordError

FORMAT = 1

# `key` and the column names are compatibility data: a test pins them.
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE effects (
    key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, status TEXT NOT NULL, digest TEXT NOT NULL, attempt INTEGER NOT NULL,
    output TEXT, output_file TEXT, usage TEXT NOT NULL, cost REAL, detail TEXT NOT NULL,
    started_at REAL NOT NULL, ended_at REAL, position INTEGER PRIMARY KEY
);
"""


def has_no_more_than_a_journal(directory: Path) -> bool:
    """Return whether a folder has nothing but the lock and the journal of a run."""
    try:
        names = [entry.name for entry in directory.iterdir()]
    except OSError:
        return False
    return all(name == "lock" or name.startswith(DATABASE) for name in names)


def cannot_make(directory: Path, error: OSError) -> RunRecordError:
    """Return the error for a run whose folder cannot be made: it exists, or the next one could not be made either."""
    kind = RunRecordError if error.errno == errno.EEXIST else CannotStore
    return kind(
        f"cannot make the run's directory {directory}: {error.strerror or error}",
        fix="choose a writable place with --runs-dir or STRANDS_RUNS_DIR",
    )


def remove_part(directory: Path) -> None:
    """Remove what a process left that died while it made the journal; raise where that is whole."""
    database = directory / DATABASE
    if database.exists() and not is_part(database):
        with contextlib.closing(sqlite3.connect(database)) as connection:
            if connection.execute("PRAGMA user_version").fetchone() != (0,):
                raise cannot_make(directory, FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)))
    for part in directory.glob(f"{DATABASE}*"):  # what SQLite has beside it too: it would read it into the new one
        part.unlink()


def is_part(database: Path) -> bool:
    """Return whether a file is the beginning of an empty journal, and not the whole of it."""
    empty = empty_database()
    return database.stat().st_size < len(empty) and empty.startswith(database.read_bytes())


@functools.cache
def empty_database() -> bytes:
    """Return the file of a journal without rows: SQLite makes one in 4 ms and waits for the disk, a copy takes none."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(f"{TABLES} PRAGMA user_version = {FORMAT};")
        made = bytearray(connection.serialize())
    # In memory there is no write-ahead log: the versions for writing and reading of a database with one, as
    # https://www.sqlite.org/fileformat.html#file_format_version_numbers has them.
    made[18:20] = b"\2\2"
    return bytes(made)
