"""The parent's side of one run: give a sandbox its program, watch clock, output and disk, end it."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from strands_tool_python_exec import _scratch
from strands_tool_python_exec._sandbox import Sandbox, Settings, framed

_TICK = 0.05
_MAX_START = 30.0
_MAX_REPORT = 262_144
# So much more than is kept may be written before the process is ended.
_MAX_DISCARDED = 8 << 20
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """One program and the limits it runs in.

    Attributes:
        is_capped: Whether no longer time can be asked for in the call.
    """

    code: str
    files: dict[str, bytes]
    timeout_s: float
    max_output: int
    settings: Settings
    is_capped: bool = False


@dataclass(slots=True)
class Outcome:
    """The outcome of a sandbox; texts, report and files come from untrusted code.

    Attributes:
        layers: The layers in force before the code ran; None if the sandbox refused to run it.
        status: The exit status, negative for a signal.
        ended_for: Why this side ended it: `start`, `wall_time`, `output`, `disk`, `cancelled`, or nothing.
    """

    layers: dict[str, str] | None = None
    refused: str = ""
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    status: int = 0
    ended_for: str = ""
    is_cut: bool = False
    files: dict[str, bytes | None] = field(default_factory=dict)


def run(request: Request, sandbox: Sandbox | None = None, is_cancelled: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a request and return when nothing of its sandbox is left.

    Args:
        request: The program.
        sandbox: One that waits, with the request's settings; a fresh one by default. It is used up.
        is_cancelled: Asked every 50 ms.

    Raises:
        OSError: The process cannot be started.
    """
    used = sandbox or Sandbox.start(request.settings)
    watch = _Watch(used, request, is_cancelled)
    try:
        watch.go()
    finally:
        watch.outcome.status = used.end()
        if used.scratch >= 0:
            watch.outcome.files = dict(_scratch.read_files(used.scratch, request.max_output))
            os.close(used.scratch)
    watch.outcome.layers, watch.outcome.refused = used.layers, used.refused
    return watch.outcome


class _Watch:
    """Moves bytes until the process has ended or a limit is reached."""

    def __init__(self, sandbox: Sandbox, request: Request, is_cancelled: Callable[[], bool]) -> None:
        self.outcome = Outcome()
        self._sandbox = sandbox
        self._request = request
        self._is_cancelled = is_cancelled
        self._pending = memoryview(b"")
        self._discarded = 0
        self._looked_at = 0.0
        self._until = time.monotonic() + _MAX_START
        self._selector = selectors.DefaultSelector()

    def go(self) -> None:
        sandbox, select = self._sandbox, self._selector
        with select:
            for stream in (sandbox.process.stdout, sandbox.process.stderr, sandbox.exited):
                select.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]
            select.register(sandbox.channel, selectors.EVENT_READ)
            self._feed_program()
            while not self.outcome.ended_for:
                events = select.select(_TICK)
                for key, mask in events:
                    self._serve(key.fileobj, mask)
                # The end is known only by the process's end: code may close every stream and go on.
                if [key.fileobj for key, _ in events] == [sandbox.exited]:
                    return
                self.outcome.ended_for = self._limit_reached()

    def _serve(self, source: Any, mask: int) -> None:
        if source is self._sandbox.exited:
            return
        if source is not self._sandbox.channel:
            self._keep_open(source, self._take_output(source))
            return
        if mask & selectors.EVENT_WRITE:
            self._write()
        if mask & selectors.EVENT_READ:
            self._keep_open(source, self._take_report())

    def _keep_open(self, source: Any, goes_on: bool) -> None:
        if not goes_on:
            self._selector.unregister(source)

    def _feed_program(self) -> bool:
        """Set the limit of processor time, which begins with the program, and send it, if the sandbox is locked.

        The code's time begins here too, however long a busy machine took to start Python.
        """
        import resource  # only where there are such limits

        if self._sandbox.layers is None:
            return False

        seconds = math.ceil(self._request.timeout_s)
        with contextlib.suppress(ProcessLookupError):  # it has just died, a fact seen elsewhere
            resource.prlimit(self._sandbox.process.pid, resource.RLIMIT_CPU, self._below_ceiling(seconds))
        self._pending = memoryview(framed((self._request.code, self._request.files)))
        self._until = time.monotonic() + self._request.timeout_s
        self._sandbox.channel.setblocking(False)
        self._selector.modify(self._sandbox.channel, selectors.EVENT_READ | selectors.EVENT_WRITE)
        self._write()
        return True

    def _below_ceiling(self, seconds: int) -> tuple[int, int]:
        """Return soft and hard limit, neither above the limit of this process."""
        import resource

        ceiling = resource.getrlimit(resource.RLIMIT_CPU)[1]
        if ceiling == resource.RLIM_INFINITY:
            return seconds, seconds + 1
        return min(seconds, ceiling), min(seconds + 1, ceiling)

    def _write(self) -> None:
        """Write as much as the channel takes; a child that no longer reads needs no more."""
        try:
            self._pending = self._pending[self._sandbox.channel.send(self._pending[:262_144]) :]
        except BlockingIOError:
            return
        except ConnectionError:
            self._pending = self._pending[:0]
        if not self._pending:
            self._selector.modify(self._sandbox.channel, selectors.EVENT_READ)

    def _take_output(self, source: Any) -> bool:
        """Read one chunk of a stream; return whether the stream continues."""
        chunk = os.read(source.fileno(), 65_536)
        stream_bytes = self.outcome.stdout if source is self._sandbox.process.stdout else self.outcome.stderr
        space = self._request.max_output - len(stream_bytes)
        stream_bytes += chunk[:space]
        self._discarded += max(0, len(chunk) - space)
        self.outcome.is_cut = self.outcome.is_cut or len(chunk) > space
        return bool(chunk)

    def _take_report(self) -> bool:
        """Read the first message with the scratch's descriptor; later ones as bytes, so that none is smuggled in."""
        try:
            if self._sandbox.layers is None:
                self.outcome.report += self._sandbox.read_first()
                return self._feed_program()
            chunk = self._sandbox.channel.recv(65_536)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        space = _MAX_REPORT - len(self.outcome.report)
        self.outcome.report += chunk[:space]
        self._discarded += max(0, len(chunk) - space)
        return bool(chunk)

    def _limit_reached(self) -> str:
        sandbox, now = self._sandbox, time.monotonic()
        if self._is_cancelled():
            return "cancelled"
        if now >= self._until:
            return "wall_time" if sandbox.layers is not None else "start"
        if self._discarded > _MAX_DISCARDED:
            return "output"
        if sandbox.scratch < 0 or now < self._looked_at + _TICK:
            return ""
        self._looked_at = now
        return "" if _scratch.is_within(sandbox.scratch, self._request.settings.disk_mb * _MIB) else "disk"
