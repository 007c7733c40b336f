"""The process around a run: signals stop it, threads cannot delay its end, only results reach stdout."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

from strands_cli.daemon_threads import DaemonThreads as DaemonThreads
from strands_cli.errors import Interrupted, Terminated
from strands_cli.secrets import RedactedFormatter

Result = TypeVar("Result")
STOP_GRACE_S = 5.0
DRAIN_S = 0.5
LONGEST_LINE = 10_000


def run_to_end(start: Callable[[], Coroutine[Any, Any, Result]], *, verbose: bool = False) -> Result:
    """Run a coroutine until it ends or a signal stops it.

    The first Ctrl-C (or SIGTERM) cancels it, and the journal stores that; a second one ends the process at once, as
    do `STOP_GRACE_S` seconds without an effect of the first.

    Raises:
        Interrupted: Ctrl-C.
        Terminated: SIGTERM.
    """
    _quiet_loggers(verbose)
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        loop.set_default_executor(DaemonThreads())
        task = loop.create_task(start())
        stopped: list[int] = []

        def stop(number: int, _frame: Any = None) -> None:
            if stopped:
                os._exit(128 + number)
            stopped.append(number)
            # Not `say`: the signal may have come in the middle of another write to the same stream.
            with contextlib.suppress(OSError):
                os.write(2, b"\nstopping; press again to end at once\n")
            loop.call_soon_threadsafe(task.cancel)
            _end_later(128 + number)

        with _handlers(stop), _woken(loop):
            try:
                return runner.run(_wait(task))
            except asyncio.CancelledError:
                if not stopped:
                    raise
                kind = Terminated if stopped[0] == signal.SIGTERM else Interrupted
                raise kind("the run was stopped") from None


def _end_later(code: int) -> None:
    timer = threading.Timer(STOP_GRACE_S, os._exit, [code])
    timer.daemon = True
    timer.start()


async def _wait(task: asyncio.Task[Result]) -> Result:
    return await task


@contextlib.contextmanager
def _handlers(stop: Callable[..., None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM call `stop`, and restore the old handlers afterwards."""
    numbers = [signal.SIGINT, signal.SIGTERM] if threading.current_thread() is threading.main_thread() else []
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _woken(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let a signal wake the event loop.

    Python calls a handler between two instructions. A signal that arrives after the last of them and before the
    loop begins to wait would be handled only at the next event, which may never occur.
    """
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield  # the loop of Windows does this itself
        return
    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        loop.add_reader(reading, reading.recv, 4096)
        before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(reading)


def _quiet_loggers(verbose: bool) -> None:
    """Keep the logs of the SDK (with tools' stack traces) and of the older tools off the terminal unless `verbose`."""
    if verbose:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(RedactedFormatter("%(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(level=logging.WARNING, handlers=[handler])
        return
    for logger in map(logging.getLogger, ("strands", "strands_tools", "mcp", "opentelemetry")):
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
            logger.propagate = False


@dataclass(frozen=True, slots=True)
class RealStreams:
    """The real streams while tools have others: a descriptor for a person's answers, and a stream for results."""

    stdin: int
    stdout: TextIO


@contextlib.contextmanager
def reserved_streams(on_line: Callable[[str], None]) -> Iterator[RealStreams]:
    """Reserve stdin and stdout for this program while tools, their child processes and C code run.

    What they write to stdout goes to `on_line`, line by line; their stdin is empty, so that none of them reads an
    answer that is meant for us. Descriptor 1 is not restored, since C libraries flush when the process ends and a tool
    that has timed out may still print: this is for the program's own process only.

    Args:
        on_line: Gets each line, in a separate thread.
    """
    real_in = _replace(0, os.open(os.devnull, os.O_RDONLY))
    reading, writing = os.pipe()
    theirs = sys.stdout
    theirs.flush()
    real_out = _replace(1, writing)
    listener = threading.Thread(target=_listen, args=(reading, on_line), daemon=True, name="strands-stdout")
    listener.start()
    ours = open(  # noqa: SIM115 - a descriptor, open as long as the process
        real_out, "w", encoding=theirs.encoding, errors=theirs.errors, closefd=False
    )
    try:
        yield RealStreams(real_in, ours)
    finally:
        with contextlib.suppress(OSError, ValueError):  # a tool may have closed it
            theirs.flush()
        os.dup2(2, 1)
        # A child process that a tool has left behind still holds the pipe, so its end may never come.
        listener.join(DRAIN_S)
        sys.stdout = ours
        os.dup2(real_in, 0)
        os.close(real_in)


def _replace(number: int, by: int) -> int:
    """Replace a descriptor's file and return a descriptor of the former one."""
    former = os.dup(number)
    os.dup2(by, number)
    os.close(by)
    return former


def _listen(reading: int, on_line: Callable[[str], None]) -> None:
    r"""Read lines until every writer has closed; of a line that was overwritten (`\r`) only the last state counts."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    while piece := os.read(reading, 65536):
        *lines, rest = (rest + decoder.decode(piece)).split("\n")
        if len(rest) > LONGEST_LINE:
            lines, rest = [*lines, rest], ""
        for line in lines:
            on_line(line.rstrip("\r").rpartition("\r")[2])
    if rest:
        on_line(rest)
    os.close(reading)
