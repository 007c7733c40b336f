"""The store of runs in a directory: a folder with a SQLite journal for each run."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.engine.folder_lock import is_run_held
from strands_cli.engine.journal.journal_rows import newest_ids
from strands_cli.engine.journal.sqlite_journal import DATABASE
from strands_cli.engine.store_port import StoredRun
from strands_cli.engine.stored_runs.described import named_run, run_of
from strands_cli.engine.stored_runs.last_place import place_facts
from strands_cli.engine.stored_runs.many_journals import journals_one_by_one
from strands_cli.errors import RunRecordError
from strands_cli.events import RunStatus
from strands_cli.store_place import StorePlace

if TYPE_CHECKING:
    from strands_cli.engine.journal.sqlite_journal import SqliteJournal
    from strands_cli.engine.store_port import StoredJournal, StoredRun


# Whether a run in a folder has changed since it was last looked at, without reading it.


# Two writes within one step of a file system's clock have the same time; the coarsest of today has 10 ms.
_STEP_NS = 50_000_000


class FolderChanges:
    """Looks at the files of a run's journal, and at whether a process works on the run.

    Nothing stays open between two looks, so that the run can be deleted meanwhile on every system.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._last_state: tuple[object, int] = ((), 0)
        self._is_worked_on = False

    def state(self) -> tuple[object, int, bool]:
        """Return a value that each change changes, in any store: the files, and whether a process works on the run.

        A change a moment before a look may count again at the next one, so such a look has its time too. Takes some 10
        microseconds, and 100 while a process works on the run.

        Raises:
            RunRecordError: The run has been deleted.
        """
        files, newest = self._files()
        now = time.time_ns()
        state = files, now if now - newest < _STEP_NS else 0
        # A process that begins to work on a run writes at once; a killed one writes nothing.
        if state != self._last_state or self._is_worked_on:
            self._is_worked_on = is_run_held(self._directory, wait_s=0)
        self._last_state = state
        return *state, self._is_worked_on

    def _files(self) -> tuple[tuple[object, ...], int]:
        """Return a value that tells states of the journal's files apart, and the time of the newest."""
        try:
            database = (self._directory / DATABASE).stat()
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError)
            how = "does not exist any more" if is_gone else f"cannot be read any more: {error.strerror or error}"
            message = f"the run {self._directory.name} {how}"
            raise RunRecordError(message, fix="see what there is: strands runs list") from error
        try:
            log = (self._directory / f"{DATABASE}-wal").stat()
        except OSError:  # there is one only while a process has the journal open
            log = None
        states = [
            (file_stat.st_ino, file_stat.st_size, file_stat.st_mtime_ns) for file_stat in (database, log) if file_stat
        ]
        return tuple(states), max(written for _, _, written in states)


# The index of ended runs: a cache of their lines in a list, so that no journal is opened for it.
#
# An entry counts only while the journal is the very same file: the same inode, times and size, and no
# write-ahead log beside it. Whatever is wrong with the index, the journals are read in its place.


# The name begins with a point, as that of a run never does; another version of the format is another file.
INDEX, _EARLIER_INDEX = ".index-2.sqlite", ".index-1.sqlite"
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
    ended_at REAL, reason TEXT, worked_s REAL, user TEXT, spent TEXT
) WITHOUT ROWID
"""
_READ = """
SELECT name, journal, workflow, pattern, file, status, started_at, ended_at, reason, worked_s, user, spent FROM runs
WHERE typeof(started_at) = 'real'
"""
_WRITE = "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# A file held by another process, an unwritable directory and a damaged file are all the same here.
_UNUSABLE = (sqlite3.Error, OSError, ValueError)


class RunIndex:
    """The index of one directory of runs, as it was when this was made."""

    def __init__(self, runs_dir: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._runs_dir, self._now_ns = runs_dir, now_ns
        self._indexed: dict[str, tuple[Any, ...]] = {}
        self._journals_before: dict[str, str] = {}  # the journals of runs still to be read, as they were before
        self._read: list[tuple[Any, ...]] = []
        self._is_damaged = False
        try:
            with _opened(runs_dir, "ro") as connection:
                self._indexed = {values[0]: values for values in connection.execute(_READ)}
        except FileNotFoundError:
            pass
        except _UNUSABLE as error:
            self._is_damaged = getattr(error, "sqlite_errorcode", None) not in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_LOCKED,
            )
        self._gone = set(self._indexed)

    def find(self, name: str) -> StoredRun | None:
        """Return an ended run of the index, or None: its journal must be read."""
        self._gone.discard(name)
        indexed = self._indexed.get(name)
        now = _journal_at(f"{self._runs_dir}/{name}")
        if indexed is not None and now == indexed[1] and indexed[5] in ENDED:
            with contextlib.suppress(ValueError, TypeError):
                values = (*indexed[2:-1], json.loads(indexed[-1] or "null"))
                return StoredRun(name, str(self._runs_dir / name), *values)
        if now is not None:
            self._journals_before[name] = now
        return None

    def note(self, run: StoredRun) -> None:
        """Keep a run, if it has ended and its journal did not change during the reading."""
        before = self._journals_before.get(run.id)
        if run.status in ENDED and before is not None and before == self._settled(run.record):
            values = (run.workflow, run.pattern, run.file, run.status, run.started_at)
            spent = None if run.spent is None else json.dumps(run.spent)
            self._read.append((run.id, before, *values, run.ended_at, run.reason, run.worked_s, run.user, spent))

    def save(self) -> None:
        """Write new entries, and forget deleted runs; an index that cannot be written stays as it is."""
        if len(self._read) < (1 if self._indexed else LEAST) and not self._gone:
            return
        with contextlib.suppress(*_UNUSABLE):
            (self._runs_dir / _EARLIER_INDEX).unlink(missing_ok=True)
            if self._is_damaged:
                (self._runs_dir / INDEX).unlink()
            with _opened(self._runs_dir, "rwc") as connection, connection:
                connection.execute(_TABLE)
                connection.executemany("DELETE FROM runs WHERE name = ?", [(name,) for name in self._gone])
                connection.executemany(_WRITE, self._read)

    def _settled(self, directory: str) -> str | None:
        """Return a value that tells a journal from its earlier states; None for one written a moment ago."""
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
    """Return a value that tells a journal from others and its earlier states; None while it may be written."""
    path = f"{directory}/{DATABASE}"
    # First the log: a write that ends between the two looks has changed the file by then.
    if os.path.exists(f"{path}-wal"):  # noqa: PTH110 - a path object for each of thousands of runs costs more
        return None
    try:
        file_stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return f"{file_stat.st_ino} {file_stat.st_mtime_ns} {file_stat.st_ctime_ns} {file_stat.st_size}"


@contextlib.contextmanager
def _opened(runs_dir: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open the index; one that somebody else has put there is not read."""
    path = runs_dir / INDEX
    if mode == "rwc":
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    file_stat = path.lstat()
    if not stat.S_ISREG(file_stat.st_mode) or (hasattr(os, "geteuid") and file_stat.st_uid != os.geteuid()):
        raise ValueError(f"{path} is not a file of this user")
    address = f"{path.absolute().as_uri()}?mode={'ro' if mode == 'ro' else 'rw'}"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_WAIT_S)) as connection:
        if mode != "ro":
            # Deleted rows are overwritten.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
        yield connection


# The journal is imported where one is opened: a list of ended runs opens none. How often is looked whether a run has
# changed.
LOOK_S = 0.1


class FolderStore:
    """The runs in one directory; the methods are described at `RunStore`."""

    def __init__(self, directory: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.place = StorePlace(directory)
        self._directory = directory
        self._now_ns = now_ns
        self._changes: dict[str, FolderChanges] = {}

    def find(self, name: str) -> str:
        """Return the id of a run, by its id, the start of its id, or `last`."""
        ids = self._ids()
        return named_run(name, ids, self.place, lambda: self._newest(ids))

    def _newest(self, run_ids: Collection[str]) -> list[str]:
        """Return the id of the newest run; of those whose ids tell seconds apart only the latest are opened."""
        candidates = newest_ids(run_ids)
        if len(candidates) < 2:
            return list(candidates)
        return [max((self.read(run) for run in candidates), key=lambda run: (run.started_at, run.id)).id]

    def runs(self) -> tuple[list[StoredRun], list[str]]:
        """Return all runs, the newest first, and the problems of journals that cannot be read."""
        runs, problems = [], []
        index = RunIndex(self._directory, self._now_ns)
        for name in sorted(self._ids()):
            run = index.find(name)
            if run is None:
                try:
                    run = self.read(name)
                except RunRecordError as error:
                    problems.append(error.message)
                    continue
                index.note(run)
            runs.append(run)
        index.save()
        # Ids have a resolution of one second only.
        return sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True), problems

    def runs_since(self, moment: float) -> list[StoredRun]:
        """Return the runs that have not ended, or did so after a moment, the newest first."""
        return [run for run in self.runs()[0] if run.ended_at is None or run.ended_at >= moment]

    def with_status(self, *statuses: RunStatus) -> list[str]:
        """Return the ids of the runs with one of these; one that nothing works on is `interrupted`."""
        return [run.id for run in self.runs()[0] if run.status in statuses]

    def _ids(self) -> list[str]:
        try:
            return [
                entry.name for entry in os.scandir(self._directory) if entry.is_dir() and not entry.name.startswith(".")
            ]
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = error.strerror or error
            unread = f"the runs in {self._directory} cannot be read: {reason}"
            raise RunRecordError(unread, fix="check the directory") from error

    def read(self, run_id: str) -> StoredRun:
        """Read a run's journal without its lock."""
        with contextlib.closing(self.open(run_id, hold=False)) as journal:
            return run_of(journal)

    def create(self, run_id: str) -> SqliteJournal:
        """Make the folder of a new run with an empty journal, and hold it."""
        from strands_cli.engine.journal.sqlite_journal import SqliteJournal

        return SqliteJournal.create(self._folder_of(run_id))

    def open(self, run_id: str, *, hold: bool = True) -> SqliteJournal:
        """Open the journal of a run; with `hold` no other process can work on it."""
        from strands_cli.engine.journal.sqlite_journal import SqliteJournal

        return SqliteJournal.open(self._folder_of(run_id), hold=hold)

    def journals(self, run_ids: Iterable[str]) -> Iterator[StoredJournal | RunRecordError]:
        """Yield the journal of each run to read it, or why it cannot be opened."""
        return journals_one_by_one(self, run_ids)

    def _folder_of(self, run_id: str) -> Path:
        """Return the folder of a run, which need not exist.

        Raises:
            RunRecordError: The id is not a name, so that it could lead out of the directory.
        """
        if run_id != os.path.basename(run_id) or run_id.startswith(".") or not run_id:  # noqa: PTH119 - a name, not a path
            raise RunRecordError(f"{run_id!r} cannot be the id of a run", fix="see what there is: strands runs list")
        return self._directory / run_id

    def stop(self, run_id: str, wait_s: float) -> None:
        """Ask the process of a run to end by a signal, and wait until it has released the lock."""
        import filelock

        directory = self._directory / run_id
        with contextlib.closing(self.open(run_id, hold=False)) as journal:
            pid, started, host = (journal.get(name) for name in ("pid", "pid_started", "host"))
            is_held = journal.is_held()
        if not is_held:
            return
        if pid is None or host != platform.node():
            raise RunRecordError(f"the run {run_id} is held by a process on {host}", fix="stop it there")
        # A process with the lock stores its number a moment later: another program may have the one before.
        if not started or started != _start_of(pid):
            unknown = f"it is not known which process works on the run {run_id}"
            raise RunRecordError(unknown, fix="try it again, or end that process")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        try:
            with filelock.FileLock(directory / "lock").acquire(timeout=wait_s):
                pass
        except filelock.Timeout:
            raise RunRecordError(f"process {pid} does not release the run", fix=f"end process {pid}") from None

    def delete(self, run_id: str) -> None:
        """Remove a run with its journal, also where this cannot be read."""
        from strands_cli.engine.folder_lock import hold_run

        directory = self._folder_of(run_id)
        if not directory.is_dir():
            message = f"the run {run_id} does not exist any more"
            raise RunRecordError(message, fix="see what there is: strands runs list")
        try:
            lock = hold_run(directory)
            try:
                for entry in list(directory.iterdir()):
                    # The lock stays until the end, so that no process begins to work on the rest.
                    if entry.is_dir() and not entry.is_symlink():
                        shutil.rmtree(entry)
                    elif entry.name != "lock":
                        entry.unlink()
            finally:
                lock.release()
            shutil.rmtree(directory)
            forget_run(directory)
        except OSError as error:
            raise RunRecordError(
                f"{directory} cannot be removed: {error.strerror or error}", fix="remove it by hand"
            ) from error

    def state(self, run_id: str | None = None) -> object:
        """Return a value that differs when the run, or the list of runs, has changed."""
        if run_id is None:
            runs, problems = self.runs()
            return [(run.id, run.status, run.ended_at) for run in runs], problems
        return self._changes.setdefault(run_id, FolderChanges(self._folder_of(run_id))).state()

    def wait(self, seen: object, run_id: str | None = None, *, wait_s: float) -> object:
        """Return the state when it is no longer `seen`, at the latest after `wait_s` seconds."""
        end = time.monotonic() + wait_s
        while (now := self.state(run_id)) == seen and (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_S, left))
        return now

    def close(self) -> None:
        """Do nothing: a directory is not held open."""


def session_facts(folder: Path | None = None, worker: str = "") -> dict[str, Any]:
    """Return the facts by which `FolderStore.stop` finds this process.

    Args:
        folder: Where it works on the run, so that people see it too; None where it does not change the run.
        worker: The id of the worker that this process is; empty for another process.
    """
    facts = {"pid": os.getpid(), "pid_started": _own_start(os.getpid()), "host": platform.node()}
    return facts if folder is None else {**facts, **place_facts(folder, worker)}


@cache
def _own_start(pid: int) -> str:
    """Return when this process started; a child that it forks has another number."""
    return _start_of(pid)


def _start_of(pid: int) -> str:
    """Return when a process started, which tells it from an earlier one with its number; empty if there is none."""
    try:
        if platform.system() == "Linux":
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - constant words and a number
    except OSError:
        return ""
