"""Kills a process before or after one of the calls by which it changes what is stored; the boundaries are counted.

`STRANDS_TEST_FIRST=batch_boundaries` makes a warm command count them, `STRANDS_TEST_BOUNDARY=N` ends it with
SIGKILL at the N-th, and `STRANDS_TEST_COUNTED=FILE` gets how many there were.
"""

from __future__ import annotations

import atexit
import itertools
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

# What stores, replaces or removes something, of files and of SQLite; between two of these nothing on the disk changes.
STORING = frozenset(
    {"open", "mkdir", "write", "writelines", "flush", "fsync", "replace", "rename", "unlink", "rmdir", "close"}
    | {"connect", "execute", "executemany", "executescript", "commit"}
)
CALLERS = ("/strands_cli/", "/pathlib", "/filelock/")


def begin() -> None:
    """Count from now on, in every thread."""
    deadly = int(os.environ.get("STRANDS_TEST_BOUNDARY", "0"))
    count = itertools.count(1)
    last = 0

    def profile(frame: FrameType, event: str, called: Any) -> None:
        nonlocal last
        if event not in ("c_call", "c_return") or called.__name__ not in STORING:
            return
        if not any(place in frame.f_code.co_filename for place in CALLERS):
            return
        last = next(count)
        if last == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    if (counted := os.environ.get("STRANDS_TEST_COUNTED")) is not None:
        atexit.register(lambda: Path(counted).write_text(str(last)))
    threading.setprofile(profile)
    sys.setprofile(profile)
