"""Kills a process at a chosen call, or gives it another clock: `python -m killed_at worker ...`.

`STRANDS_TEST_KILLED_AT=FILE:FUNCTION:EVENT:N` means the N-th time that a function of a file is called or returns, and
`STRANDS_TEST_CLOCK=-86400` a clock that is a day late. Also for `STRANDS_TEST_FIRST`.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

WHERE, CLOCK = "STRANDS_TEST_KILLED_AT", "STRANDS_TEST_CLOCK"


def begin() -> None:
    """Watch the function in every thread from now on."""
    now = time.time
    if shift := float(os.environ.get(CLOCK, "0")):
        time.time = lambda: now() + shift
    if (where := os.environ.get(WHERE)) is None:
        return
    file, function, wanted, number = where.split(":")
    count = itertools.count(1)

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_meant = event == wanted and code.co_name == function and code.co_filename.endswith(file)
        if is_meant and next(count) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(profile)
    sys.setprofile(profile)


if __name__ == "__main__":
    from strands_cli.cli import main

    begin()
    main()
