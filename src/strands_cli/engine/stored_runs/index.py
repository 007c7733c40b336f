"""The index of runs that have ended: a cache of what a list shows of them, so that no journal is opened for it.

An entry counts only while the journal is the very file that was read: the same inode, times and size, and no
write-ahead log beside it. Whatever is wrong with the index, the journals are read in its place.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from strands_cli.engine.journal.journal_files import DATABASE
from strands_cli.engine.ports.store_port import StoredRun

# The name begins with a point, as that of a run never does; another version of the format is another file.
INDEX = ".index-1.sqlite"
ENDED = frozenset({"completed", "failed", "cancelled"})
# With fewer runs an index saves less than it costs.
LEAST = 50
# A file system may count its times in steps of two seconds: a younger file may be written again within the same one.
SETTLED_NS = 2_500_000_000
_WAIT_S = 0.5
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    name TEXT PRIMARY KEY, journal TEXT, workflow TEXT, pattern TEXT, file TEXT, status TEXT, started_at REAL,
    ended_at REAL, reason TEXT, worked_s REAL
) WITHOUT ROWID
"""
_READ = """
SELECT name, journal, workflow, pattern, file, status, started_at, ended_at, reason, worked_s FROM runs
WHERE typeof(started_at) = 'real'
"""
_WRITE = "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# What another process holds, an unwritable directory and a damaged file are all the same here.
_UNUSABLE = (sqlite3.Error, OSError, ValueError)


class RunIndex:
    """The index of one directory of runs, as it was when this was made."""

    def __init__(self, runs_dir: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._runs_dir, self._now_ns = runs_dir, now_ns
        self._known: dict[str, tuple[Any, ...]] = {}
        self._seen: dict[str, str] = {}  # the journals of runs that are to be read, as they were before
        self._read: list[tuple[Any, ...]] = []
        self._is_damaged = False
        try:
            with _opened(runs_dir, "ro") as connection:
                self._known = {values[0]: values for values in connection.execute(_READ)}
        except FileNotFoundError:
            pass
        except _UNUSABLE as error:
            self._is_damaged = getattr(error, "sqlite_errorcode", None) not in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
            )
        self._gone = set(self._known)

    def find(self, name: str) -> StoredRun | None:
        """Return a run that is known to have ended, or None: its journal must be read."""
        self._gone.discard(name)
        found = self._known.get(name)
        now = _journal_at(f"{self._runs_dir}/{name}")
        if found is not None and now == found[1] and found[5] in ENDED:
            return StoredRun(name, str(self._runs_dir / name), *found[2:])
        if now is not None:
            self._seen[name] = now
        return None

    def note(self, run: StoredRun) -> None:
        """Keep a run that has been read, if it has ended and its journal has not changed while it was read."""
        before = self._seen.get(run.id)
        if run.status in ENDED and before is not None and before == self._settled(run.record):
            values = (run.workflow, run.pattern, run.file, run.status, run.started_at)
            self._read.append((run.id, before, *values, run.ended_at, run.reason, run.worked_s))

    def save(self) -> None:
        """Write what is new, and forget runs that are gone; an index that cannot be written stays as it is."""
        if len(self._read) < (1 if self._known else LEAST) and not self._gone:
            return
        with contextlib.suppress(*_UNUSABLE):
            if self._is_damaged:
                (self._runs_dir / INDEX).unlink()
            with _opened(self._runs_dir, "rwc") as connection, connection:
                connection.execute(_TABLE)
                connection.executemany("DELETE FROM runs WHERE name = ?", [(name,) for name in self._gone])
                connection.executemany(_WRITE, self._read)

    def _settled(self, directory: str) -> str | None:
        """Return what tells a journal from its earlier states; None for one that was written a moment ago."""
        now = _journal_at(directory)
        newest = max(map(int, now.split()[1:3])) if now else 0
        return now if newest <= self._now_ns() - SETTLED_NS else None


def forget_run(directory: Path) -> None:
    """Remove a deleted run from the index: its reason may have words that were to be deleted."""
    if not (directory.parent / INDEX).exists():
        return
    with contextlib.suppress(*_UNUSABLE), _opened(directory.parent, "rw") as connection, connection:
        connection.execute("DELETE FROM runs WHERE name = ?", (directory.name,))


def _journal_at(directory: str) -> str | None:
    """Return what tells a journal from every other and from its earlier states; None while it may be written."""
    path = f"{directory}/{DATABASE}"
    # First the log: what ends between the two looks has changed the file by then.
    if os.path.exists(f"{path}-wal"):  # noqa: PTH110 - a path object for each of thousands of runs costs more
        return None
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return f"{found.st_ino} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_size}"


@contextlib.contextmanager
def _opened(runs_dir: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open the index; one that somebody else has put there is not read."""
    path = runs_dir / INDEX
    if mode == "rwc":
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
        raise ValueError(f"{path} is not a file of this user")
    address = f"{path.absolute().as_uri()}?mode={'ro' if mode == 'ro' else 'rw'}"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_WAIT_S)) as connection:
        if mode != "ro":
            # What is deleted is overwritten.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
        yield connection
