"""The store of runs in a directory: a folder with a SQLite journal for each run."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.run_parts import newest_ids
from strands_cli.engine.stored_runs.described import named_run, run_of
from strands_cli.engine.stored_runs.folder_changes import FolderChanges
from strands_cli.engine.stored_runs.index import RunIndex, forget_run
from strands_cli.engine.stored_runs.last_place import place_facts
from strands_cli.engine.stored_runs.many_journals import journals_one_by_one
from strands_cli.errors import RunRecordError
from strands_cli.events import RunStatus
from strands_cli.store_place import StorePlace

if TYPE_CHECKING:
    from strands_cli.engine.journal.sqlite_journal import SqliteJournal
    from strands_cli.engine.ports.store_port import StoredJournal, StoredRun

# The journal is imported where one is opened: a list of runs that have ended opens none.
# How often is looked whether a run has changed.
LOOK_S = 0.1


class FolderStore:
    """The runs in one directory; see `RunStore` for what the methods promise."""

    def __init__(self, directory: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.place = StorePlace(directory)
        self._directory = directory
        self._now_ns = now_ns
        self._changes: dict[str, FolderChanges] = {}

    def find(self, name: str) -> str:
        """Return the id of a run, by its id, the start of its id, or `last`."""
        known = self._ids()
        return named_run(name, known, self.place, lambda: self._newest(known))

    def _newest(self, known: Collection[str]) -> list[str]:
        """Return the id of the newest run; of those whose ids tell seconds apart only the latest are opened."""
        candidates = newest_ids(known)
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
        # A process that has taken the lock stores its number a moment later: another program may have the one before.
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
            gone = f"the run {run_id} does not exist any more"
            raise RunRecordError(gone, fix="see what there is: strands runs list")
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
        worker: The id of the worker that this process is; empty for one that is none.
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
