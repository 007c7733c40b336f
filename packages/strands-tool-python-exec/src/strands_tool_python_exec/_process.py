"""The parent's side of one sandbox: start it, feed it, watch its clock, output and disk, end it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_tool_python_exec import _scratch

_CHILD = Path(__file__).with_name("_child.py")
_TICK = 0.05
_MAX_START = 30.0
_MAX_REPORT = 262_144
# So much more than is kept may be written before the process is ended.
_MAX_DISCARDED = 8 << 20
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """One program and the limits it runs in."""

    code: str
    files: dict[str, str]
    timeout_s: float
    memory_mb: int
    disk_mb: int
    max_output: int
    machine: str
    readable: tuple[str, ...]
    listable: tuple[str, ...]
    import_from: tuple[str, ...]
    namespaces: bool


@dataclass(slots=True)
class Outcome:
    """What became of a sandbox; texts, report and files are the word of code that nobody trusts.

    Attributes:
        layers: What was in force before the code ran; None if the sandbox refused to run it.
        status: The exit status, negative for a signal.
        ended_for: Why this side ended it: `start`, `wall_time`, `output`, `disk`, `cancelled`, or nothing.
    """

    layers: dict[str, str] | None = None
    refused: str = ""
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    scratch: int = -1
    status: int = 0
    ended_for: str = ""
    is_cut: bool = False
    discarded: int = 0
    looked_at: float = 0.0
    until: float = 0.0
    files: dict[str, bytes | None] = field(default_factory=dict)


def run(request: Request, is_cancelled: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a request in a fresh sandbox and return when nothing of it is left.

    Raises:
        OSError: The process cannot be started.
    """
    scratch = Path(tempfile.mkdtemp(prefix="python-exec-"))
    try:
        return _run_in(str(scratch), request, is_cancelled)
    finally:
        _scratch.remove(scratch)


def _run_in(scratch: str, request: Request, is_cancelled: Callable[[], bool]) -> Outcome:
    outcome = Outcome()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = _start(scratch, theirs.fileno())
        try:
            _watch(process, ours, _payload(request, scratch), request, outcome, is_cancelled)
        finally:
            _end(process)
            outcome.status = process.returncode
            if outcome.scratch >= 0:
                outcome.files = dict(_scratch.read_files(outcome.scratch, request.max_output))
                os.close(outcome.scratch)
    return outcome


def _start(scratch: str, channel: int) -> subprocess.Popen[bytes]:
    python = getattr(sys, "_base_executable", None) or sys.executable
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": scratch, "TMPDIR": scratch}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(  # noqa: S603 - our own interpreter and program
        [python, "-I", "-S", "-B", "-X", "utf8", str(_CHILD), str(channel)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=scratch,
        env={**environment, **threads},
        pass_fds=(channel,),
        start_new_session=True,
    )


def _payload(request: Request, scratch: str) -> bytes:
    names = ("code", "files", "memory_mb", "disk_mb", "machine", "readable", "listable", "import_from", "namespaces")
    given = {name: getattr(request, name) for name in names}
    given |= {"parent": os.getpid(), "scratch": scratch, "cpu_s": request.timeout_s}
    data = json.dumps(given).encode()
    return len(data).to_bytes(8, "big") + data


def _watch(
    process: subprocess.Popen[bytes],
    channel: socket.socket,
    payload: bytes,
    request: Request,
    outcome: Outcome,
    is_cancelled: Callable[[], bool],
) -> None:
    """Move bytes until the process has closed its streams, or a limit is reached."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: S101, PT018
    outcome.until = time.monotonic() + _MAX_START
    pending = memoryview(payload)
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr, channel):
            selector.register(stream, selectors.EVENT_READ)
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map() and not outcome.ended_for:
            for key, _ in selector.select(_TICK):
                if key.fileobj is process.stdin:
                    pending = _feed(process.stdin.fileno(), pending)
                    if not pending:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                elif not _take(key.fileobj, process, channel, request, outcome):
                    selector.unregister(key.fileobj)
            outcome.ended_for = _limit_reached(request, outcome, is_cancelled)
            if not outcome.ended_for and process.poll() is not None and not _has_more(selector):
                return
    _await_exit(process, request, outcome, is_cancelled)


def _await_exit(
    process: subprocess.Popen[bytes], request: Request, outcome: Outcome, is_cancelled: Callable[[], bool]
) -> None:
    """Give a process that has closed every stream the rest of its time, so that its own status is what counts."""
    while not outcome.ended_for:
        try:
            process.wait(_TICK)
        except subprocess.TimeoutExpired:
            outcome.ended_for = _limit_reached(request, outcome, is_cancelled)
        else:
            return


def _has_more(selector: selectors.BaseSelector) -> bool:
    """Return whether anything is left to read of a process that has ended."""
    return any(True for _ in selector.select(0))


def _feed(descriptor: int, pending: memoryview) -> memoryview:
    """Write what the pipe takes; a child that no longer reads needs no more."""
    try:
        return pending[os.write(descriptor, pending[:65_536]) :]
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return pending[:0]


def _take(source: Any, process: subprocess.Popen[bytes], channel: socket.socket, request: Request, to: Outcome) -> bool:
    """Read one chunk of a stream; return whether the stream goes on."""
    if source is channel:
        return _take_report(channel, request, to)
    chunk = os.read(source.fileno(), 65_536)
    kept = to.stdout if source is process.stdout else to.stderr
    space = request.max_output - len(kept)
    kept += chunk[:space]
    to.discarded += max(0, len(chunk) - space)
    to.is_cut = to.is_cut or len(chunk) > space
    return bool(chunk)


def _take_report(channel: socket.socket, request: Request, to: Outcome) -> bool:
    """Read the first message with the scratch's descriptor; later ones as bytes alone, so that none is smuggled in."""
    try:
        if to.layers is not None:
            chunk = channel.recv(65_536)
            space = _MAX_REPORT - len(to.report)
            to.report += chunk[:space]
            to.discarded += max(0, len(chunk) - space)
            return bool(chunk)
        chunk, descriptors, _, _ = socket.recv_fds(channel, 4096, 1)
    except ConnectionError:
        return False
    to.scratch = descriptors[0] if descriptors else -1
    first, _, rest = chunk.partition(b"\n")
    said = json.loads(first) if first else {}
    to.refused = said.get("refused", "")
    to.layers = said.get("layers")
    # The code's time begins with the code, however long a busy machine took to start Python.
    to.until = time.monotonic() + request.timeout_s
    to.report += rest
    return bool(chunk) and to.layers is not None


def _limit_reached(request: Request, outcome: Outcome, is_cancelled: Callable[[], bool]) -> str:
    if is_cancelled():
        return "cancelled"
    if time.monotonic() >= outcome.until:
        return "wall_time" if outcome.layers is not None else "start"
    if outcome.discarded > _MAX_DISCARDED:
        return "output"
    if outcome.scratch < 0 or time.monotonic() < outcome.looked_at + _TICK:
        return ""
    outcome.looked_at = time.monotonic()
    return "" if _scratch.is_within(outcome.scratch, request.disk_mb * _MIB) else "disk"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the group, reap, and close the pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
