"""Programs that we start: within their time, and ended together with all that they have started."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import IO


def run_within(seconds: float, command: Sequence[str], out: IO[bytes], err: IO[bytes]) -> int | None:
    """Run a command in a session of its own and return its exit code, None where the time was over.

    It gets no input. What it prints goes to files and not to pipes, which a grandchild may hold open for ever.

    Raises:
        OSError: it cannot be started.
    """
    import subprocess

    child = subprocess.Popen(  # noqa: S603 - who calls this says what is run
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
    )
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end_group(child.pid)
        child.wait()


def end_group(leader: int, number: int | None = None) -> None:
    """Send a signal, by default the one that ends at once, to a process and all that it has started.

    Args:
        leader: A process that was started in a session of its own; it may be over already.
        number: The signal; where there are no groups, the process alone is ended.
    """
    import contextlib
    import signal

    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            os.kill(leader, signal.SIGTERM)
        else:
            os.killpg(leader, signal.SIGKILL if number is None else number)
