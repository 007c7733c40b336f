"""The process around a run: signals stop it, and threads cannot delay its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from strands_cli.cli.output.messages import real_stderr, say
from strands_cli.errors import HungUp, Interrupted, StrandsCliError, Terminated
from strands_cli.system.daemon_threads import DaemonThreads as DaemonThreads

Result = TypeVar("Result")
STOP_GRACE_S = 5.0
# How many files a run has open at once before its first step, at least.
FIRST_FILES = 10
_STOPS: dict[int, type[StrandsCliError]] = {signal.SIGINT: Interrupted, signal.SIGTERM: Terminated}
if sys.platform != "win32":
    _STOPS[signal.SIGHUP] = HungUp


def _new_line() -> bytes:
    return b"\n"


def run_to_end(
    start: Callable[[], Coroutine[Any, Any, Result]],
    before_notice: Callable[[], bytes] = _new_line,
    *,
    reserves_streams: bool = False,
) -> Result:
    """Run a coroutine until it ends or a signal stops it.

    The first Ctrl-C, SIGTERM or SIGHUP (a closed terminal) cancels it, and the journal stores that. Ctrl-C again ends
    the process at once, as does any signal after Ctrl-C, and `STOP_GRACE_S` seconds without an effect; supervisors
    often send SIGTERM and SIGHUP twice, or both, so these do not shorten a stop that has begun.

    Args:
        start: Returns the coroutine.
        before_notice: Returns what is written before the line about the first signal.
        reserves_streams: Whether stdin and stdout are for this program only while it works: tools read nothing, and
            what they print becomes lines on stderr. At most once in a process.

    Raises:
        Interrupted: Ctrl-C.
        Terminated: SIGTERM.
        HungUp: SIGHUP.
    """
    _require_files()
    stopped: list[int] = []
    with (
        _reserved(is_wanted=reserves_streams),
        _handlers(stopped, before_notice) as on_stop,
        asyncio.Runner() as runner,
    ):
        loop = runner.get_loop()
        loop.set_default_executor(DaemonThreads())
        task = loop.create_task(start())
        on_stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        if stopped:  # before there was a task to cancel
            task.cancel()
        with _woken(loop):
            try:
                return runner.run(_wait(task))
            except asyncio.CancelledError:
                if not stopped:
                    raise
                raise _STOPS[stopped[0]]("the run was stopped") from None


def _reserved(*, is_wanted: bool) -> AbstractContextManager[Any]:
    if not is_wanted:
        return contextlib.nullcontext()
    from strands_cli.cli.foreign_output import reserved_streams

    return reserved_streams(say)


def _require_files() -> None:
    """Check that a run can open its first files: half an event loop would print a traceback of its own.

    Raises:
        OSError: This process may not open so many files.
    """
    opened: list[int] = []
    try:
        opened += (os.open(os.devnull, os.O_RDONLY) for _ in range(FIRST_FILES))
    finally:
        for number in opened:
            os.close(number)


def _stop(number: int, stopped: list[int], on_stop: list[Callable[[], Any]], before: Callable[[], bytes]) -> None:
    """Handle a signal."""
    if stopped:
        if signal.SIGINT in (number, stopped[0]):
            os._exit(128 + number)
        return
    stopped.append(number)
    # Not `say`: the signal may have come in the middle of another write to the same stream.
    with contextlib.suppress(OSError, ValueError):
        stderr = real_stderr().fileno()
        os.write(stderr, before() + _notice(number, stderr).encode())
    for cancel in on_stop:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the work has just ended
            cancel()
    _end_later(128 + number)


def _notice(number: int, stderr: int) -> str:
    """Return the line about the first signal: another one hastens the end only where it is that of Ctrl-C."""
    if number != signal.SIGINT:
        return f"stopping, within {STOP_GRACE_S:g} s\n"
    return f"stopping; {'press again to end' if os.isatty(stderr) else 'a second SIGINT ends it'} at once\n"


def _end_later(code: int) -> None:
    timer = threading.Timer(STOP_GRACE_S, os._exit, [code])
    timer.daemon = True
    timer.start()


async def _wait(task: asyncio.Task[Result]) -> Result:
    return await task


@contextlib.contextmanager
def _handlers(stopped: list[int], before_notice: Callable[[], bytes]) -> Iterator[list[Callable[[], Any]]]:
    """Let signals stop the work: each is added to `stopped`, and the first one calls what the block has added.

    The old handlers return afterwards, but not after a stop: a second SIGTERM would end the process, by its default,
    while what was stopped is being reported.
    """
    on_stop: list[Callable[[], Any]] = []
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in _STOPS if is_main}
    # `nohup` ignores SIGHUP for the programs that it starts.
    before = {number: old for number, old in before.items() if number == signal.SIGINT or old != signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda number, _frame: _stop(number, stopped, on_stop, before_notice))
    try:
        yield on_stop
    finally:
        for number, handler in before.items() if not stopped else ():
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
