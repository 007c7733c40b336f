"""The journals of all runs in one directory: find one, list them, cancel, delete."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.engine.stored_runs.run_index import RunIndex, forget_run
from strands_cli.engine.stored_runs.stored_run import StoredRun
from strands_cli.errors import RunRecordError, UsageError, suggest
from strands_cli.events import RunStatus
from strands_cli.phrases import first_of

if TYPE_CHECKING:
    from strands_cli.engine.journal import Clock, Journal, SqliteJournal

# The journal is imported where one is opened: a list of runs that have ended opens none.
STOP_S = 15.0
# Others who look take the lock for some microseconds; one who works on the run keeps it.
GLANCE_S = 0.05
# In seconds since the epoch: where the year 9999 ends, the last that a date of ours can name.
LAST_MOMENT = 253402300800.0
# The name of the newest run.
LAST = "last"


def find_run(runs_dir: Path, name: str) -> Path:
    """Return the directory of a run, by its id, the start of its id, or `last`.

    Raises:
        RunRecordError: No run has this name, or several have it.
    """
    known = _run_ids(runs_dir)
    # Only names that exist are accepted, so that none can lead out of the directory.
    if name in known:
        return runs_dir / name
    meant = _newest(runs_dir, known) if name == LAST else [run for run in known if name and run.startswith(name)]
    if len(meant) == 1:
        return runs_dir / meant[0]
    if meant:
        several = f"they are: {first_of(sorted(meant, reverse=True), 5)}"
        raise RunRecordError(f"the ids of {len(meant)} runs in {runs_dir} start with {name!r}", fix=several)
    if not known:
        raise RunRecordError(f"there are no runs in {runs_dir}", fix="name another directory with --runs-dir")
    fix = suggest(name, [LAST, *known], "see `strands runs list`")
    raise RunRecordError(f"there is no run {name!r} in {runs_dir}", fix=fix)


def _newest(runs_dir: Path, known: Sequence[str]) -> list[str]:
    """Return the id of the newest run; only runs of the same second are opened, since ids tell seconds apart."""
    second = max(known, default="")[: len("20261121-033012")]
    candidates = [run for run in known if run.startswith(second)]
    if len(candidates) < 2:
        return candidates
    return [max((read_run(runs_dir / run) for run in candidates), key=lambda run: (run.started_at, run.id)).id]


def list_runs(runs_dir: Path, now_ns: Callable[[], int] = time.time_ns) -> tuple[list[StoredRun], list[str]]:
    """Return all runs, the newest first, and the problems of journals that cannot be read."""
    runs, problems = [], []
    index = RunIndex(runs_dir, now_ns)
    for name in sorted(_run_ids(runs_dir)):
        run = index.find(name)
        if run is None:
            try:
                run = read_run(runs_dir / name)
            except RunRecordError as error:
                problems.append(error.message)
                continue
            index.note(run)
        runs.append(run)
    index.save()
    # Ids have a resolution of one second only.
    return sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True), problems


def _run_ids(runs_dir: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(runs_dir) if entry.is_dir() and not entry.name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = error.strerror or error
        raise RunRecordError(f"the runs in {runs_dir} cannot be read: {reason}", fix="check the directory") from error


def read_run(directory: Path) -> StoredRun:
    """Read a run's journal without its lock.

    Raises:
        RunRecordError: The journal cannot be read.
    """
    from strands_cli.engine.journal import SqliteJournal

    journal = SqliteJournal.open(directory, hold=False)
    with contextlib.closing(journal):
        return run_in(directory, journal)


def run_status(journal: SqliteJournal) -> RunStatus:
    """Return the status of a run; one with status `running` and no process was interrupted."""
    status: RunStatus = journal.get("status")
    return "interrupted" if status == "running" and not is_locked(journal.directory) else status


def run_in(directory: Path, journal: SqliteJournal) -> StoredRun:
    """Return the run of an open journal."""
    from strands_cli.engine.effects import worked_before

    require_begun(directory, journal)
    status, ended_at, reason = run_status(journal), journal.get("ended_at"), journal.get("reason")
    try:
        if not isinstance(status, str):
            raise TypeError(f"the status is {status!r}")
        return StoredRun(
            id=directory.name,
            directory=directory,
            workflow=str(journal.get("workflow") or ""),
            pattern=str(journal.get("pattern") or ""),
            file=str(journal.get("file") or ""),
            status=status,
            started_at=_time(journal.get("started_at")),
            ended_at=None if ended_at is None else _time(ended_at),
            reason=None if reason is None else str(reason),
            worked_s=worked_before(journal),
        )
    except (TypeError, ValueError) as error:
        raise damaged_facts(directory, error) from error


def damaged_facts(directory: Path, error: Exception) -> RunRecordError:
    """Return the error for what is not in the rows of a run, where it has a form that nothing here writes."""
    return RunRecordError(
        f"the facts of the run in {directory} are damaged: {type(error).__name__}: {error}",
        fix=f"what it did cannot be used any more; remove it: strands runs delete {directory.name}",
    )


def _time(value: Any) -> float:
    """Return seconds since the epoch that can be shown as a date; raise `ValueError` or `TypeError` otherwise."""
    if not 0 <= float(value) < LAST_MOMENT:
        raise ValueError(f"{value} is not a time")
    return float(value)


def require_begun(directory: Path, journal: Journal) -> None:
    """Raise `RunRecordError` for a journal without the facts of its run: it has no effects either."""
    if journal.get("status") is None or journal.get("started_at") is None:
        raise RunRecordError(
            f"the journal in {directory} has neither the status of the run nor its start",
            fix=f"the process died before it did anything; start a new run, and: strands runs delete {directory.name}",
        )


def is_locked(directory: Path) -> bool:
    """Return whether a process is working on the run now."""
    from strands_cli.engine.journal import hold_run

    try:
        hold_run(directory, wait_s=GLANCE_S).release()
    except RunRecordError:
        return True
    except OSError:  # no process can hold a run in a directory that cannot be written
        return False
    return False


def session_facts() -> dict[str, Any]:
    """Return the facts by which `cancel_run` finds this process."""
    return {"pid": os.getpid(), "pid_started": _start_of(os.getpid()), "host": platform.node()}


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


def cancel_run(directory: Path, clock: Clock) -> None:
    """Stop the process of a run, if there is one, and record that the run is cancelled.

    Raises:
        UsageError: The run has ended.
        RunRecordError: Its process is on another machine, or does not end.
    """
    from strands_cli.engine.journal import SqliteJournal

    status = read_run(directory).status
    _require_unended(directory, status)
    if status == "running":
        _stop_process(directory)
    journal = SqliteJournal.open(directory)
    with contextlib.closing(journal):
        _require_unended(directory, journal.get("status"))  # it may have completed before it was asked to stop
        journal.put(status="cancelled", reason="a person cancelled it", ended_at=clock.now())


def _require_unended(directory: Path, status: RunStatus) -> None:
    if status in ("completed", "cancelled"):
        raise UsageError(f"the run {directory.name} is {status}", fix="there is nothing to cancel")


def _stop_process(directory: Path) -> None:
    """Ask the process of a run to end, and wait until it has released the lock."""
    import filelock

    from strands_cli.engine.journal import SqliteJournal

    journal = SqliteJournal.open(directory, hold=False)
    with contextlib.closing(journal):
        pid, started, host = (journal.get(name) for name in ("pid", "pid_started", "host"))
    if pid is None or host != platform.node():
        raise RunRecordError(f"the run {directory.name} is held by a process on {host}", fix="stop it there")
    # A process that has taken the lock stores its number a moment later: another program may have the one before it.
    if not started or started != _start_of(pid):
        if is_locked(directory):
            unknown = f"it is not known which process works on the run {directory.name}"
            raise RunRecordError(unknown, fix="try it again, or end that process")
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    try:
        with filelock.FileLock(directory / "lock").acquire(timeout=STOP_S):
            pass
    except filelock.Timeout:
        raise RunRecordError(f"process {pid} does not release the run", fix=f"end process {pid}") from None


def delete_run(directory: Path) -> None:
    """Remove a run with its journal, also where this cannot be read.

    Raises:
        RunRecordError: A process is working on it, or the disk refuses.
    """
    from strands_cli.engine.journal import hold_run

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
