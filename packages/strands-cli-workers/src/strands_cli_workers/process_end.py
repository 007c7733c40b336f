"""How a worker is asked to end, and how it ends when it cannot do so by itself: in every state, and in its time."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

from strands_cli.api import ExitCode

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# How long a stop may take: the runs to stop cleanly, and connections to be closed.
STOP_S, GRACE_S = 5.0, 10.0
# How long the last line of the log may take: its reader may have stopped.
LAST_LINE_S = 1.0
Ask = Callable[[str], None]


class ProcessEnd:
    """Hears signals in a thread of its own, so that an event loop that hangs does not keep the process alive.

    Args:
        drain_timeout_s: How long running runs may take after the first signal.
        ask: Is called in this thread with the name of each signal.
        say: Writes the last line.
    """

    def __init__(self, drain_timeout_s: float, ask: Ask, say: Callable[[str], None]) -> None:
        self._drain_timeout_s, self._ask, self._say = drain_timeout_s, ask, say
        self._heard, self._hears = socket.socketpair()
        self._signals: list[int] = []
        self._deadline: float | None = None
        self._code = int(ExitCode.RUN_RECORD)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take signals during the block. A process that was asked to end has its time for the work after it too."""
        self._hears.setblocking(False)
        before = {number: signal.signal(number, lambda *_: None) for number in SIGNALS}
        earlier = signal.set_wakeup_fd(self._hears.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._listen, name="strands-worker-end", daemon=True).start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(earlier)
            for number, handler in before.items():
                signal.signal(number, handler)
            if not self._signals:
                self._heard.close()
                self._hears.close()

    def within(self, seconds: float) -> None:
        """End the process at the latest after so many seconds, whatever it does then."""
        self._deadline = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            self._hears.send(b"\0")

    def _listen(self) -> None:
        while True:
            left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            try:
                self._heard.settimeout(left)
                for number in self._heard.recv(64) if left != 0.0 else b"":
                    self._hear(number)
            except TimeoutError:
                pass
            except (OSError, ValueError):  # closed
                return
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._end()

    def _hear(self, number: int) -> None:
        if number not in SIGNALS:
            return
        self._signals.append(number)
        self._code = 128 + number
        now = time.monotonic()
        first = (self._deadline or now + self._drain_timeout_s + STOP_S + GRACE_S, now + STOP_S, now)
        self._deadline = min(first[: len(self._signals)])
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self._ask(signal.Signals(number).name)

    def _end(self) -> None:
        text = "the worker did not end in its time, and is ended now; its runs wait for another worker"
        line = threading.Thread(target=self._say, args=(text,), daemon=True)
        line.start()
        line.join(LAST_LINE_S)
        for stream in (sys.stdout, sys.stderr):
            flush = threading.Thread(target=stream.flush, daemon=True)
            flush.start()
            flush.join(LAST_LINE_S)
        os._exit(self._code)
