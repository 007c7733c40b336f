"""Run programs with a time limit, and end them together with their child processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import IO


def run_within(
    seconds: float,
    command: Sequence[str],
    out: IO[bytes],
    err: IO[bytes],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> int | None:
    """Run a command in its own session and return its exit code; None if it reaches the time limit.

    It gets no input. Its output goes to files, not to pipes, which a grandchild may keep open.

    Args:
        env: Its environment; by default that of this process.
        cwd: Its current directory; by default that of this process.

    Raises:
        OSError: The command cannot be started.
    """
    import subprocess

    child = subprocess.Popen(  # noqa: S603 - the caller is responsible for the command
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, env=env, cwd=cwd
    )
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end_group(child.pid)
        child.wait()


def end_group(leader: int, number: int | None = None) -> None:
    """Send a signal, by default SIGKILL, to a process and its child processes.

    Args:
        leader: A process started in its own session; it may have ended.
        number: The signal; on Windows, which has no process groups, only the process is ended.
    """
    import contextlib
    import signal

    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            os.kill(leader, signal.SIGTERM)
        else:
            os.killpg(leader, signal.SIGKILL if number is None else number)
