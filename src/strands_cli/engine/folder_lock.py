"""The lock of a run's folder: one process at a time works on the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strands_cli.errors import RunRecordError

# A process that checks the lock takes it for a moment; another one that wants to work on the run must not fail then.
LOOK_S = 0.5
# Others who look take the lock for some microseconds; one who works on the run keeps it.
GLANCE_S = 0.05


def hold_run(directory: Path, *, wait_s: float = LOOK_S) -> Any:
    """Take the run's lock, which the kernel releases when this process dies; wait for `wait_s` where it is taken.

    Raises:
        RunRecordError: Another process has it.
    """
    import filelock

    lock = filelock.FileLock(directory / "lock")
    try:
        lock.acquire(timeout=wait_s, poll_interval=0.01)
    except filelock.Timeout:
        raise RunRecordError(
            f"another process is working on the run in {directory}", fix="wait until it ends, or stop it"
        ) from None
    return lock


def is_run_held(directory: Path, *, wait_s: float = GLANCE_S) -> bool:
    """Return whether a process works on the run in a directory now; wait for `wait_s` for one that only looks."""
    try:
        hold_run(directory, wait_s=wait_s).release()
    except RunRecordError:
        return True
    except OSError:  # no process can hold a run in a directory that cannot be written
        return False
    return False
