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
from typing import Any, TypeVar

from strands_cli.cli.output import real_stderr
from strands_cli.daemon_threads import DaemonThreads as DaemonThreads
from strands_cli.errors import Interrupted, Terminated

Result = TypeVar("Result")
STOP_GRACE_S = 5.0


def run_to_end(start: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine until it ends or a signal stops it.

    The first Ctrl-C (or SIGTERM) cancels it, and the journal stores that; a second one ends the process at once, as
    do `STOP_GRACE_S` seconds without an effect of the first.

    Raises:
        Interrupted: Ctrl-C.
        Terminated: SIGTERM.
    """
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
            with contextlib.suppress(OSError, ValueError):
                os.write(real_stderr().fileno(), b"\nstopping; press again to end at once\n")
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
