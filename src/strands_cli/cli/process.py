"""The process around a run: signals that stop it, threads that cannot hold it up, a stdout that stays clean."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TextIO, TypeVar

from strands_cli.errors import Interrupted, Terminated

Result = TypeVar("Result")


def run_to_end(start: Callable[[], Coroutine[Any, Any, Result]], *, verbose: bool = False) -> Result:
    """Run a coroutine until it ends or a signal stops it.

    The first Ctrl-C (or SIGTERM) cancels it, which leaves a record that says so; a second one ends the process.

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
            loop.call_soon_threadsafe(task.cancel)

        with _handlers(stop):
            try:
                return runner.run(_wait(task))
            except (asyncio.CancelledError, KeyboardInterrupt):
                kind = Terminated if stopped and stopped[0] == signal.SIGTERM else Interrupted
                raise kind("the run was stopped; what it did so far is in its record") from None


async def _wait(task: asyncio.Task[Result]) -> Result:
    return await task


@contextlib.contextmanager
def _handlers(stop: Callable[..., None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM call `stop`, and give the old handlers back afterwards."""
    numbers = [signal.SIGINT, signal.SIGTERM] if threading.current_thread() is threading.main_thread() else []
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _quiet_loggers(verbose: bool) -> None:
    """Keep the SDK's log lines (stack traces of tools included) off the terminal unless asked for."""
    logger = logging.getLogger("strands")
    if verbose:
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    elif not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False


class DaemonThreads(ThreadPoolExecutor):
    """An executor whose threads end with the process: a tool that hangs holds up neither the run nor the exit."""

    def __init__(self, limit: int = 64) -> None:
        super().__init__(max_workers=1)
        self._slots = threading.BoundedSemaphore(limit)

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start the work in a thread of its own."""
        future: Future[Any] = Future()

        def call() -> None:
            with self._slots:
                if not future.set_running_or_notify_cancel():
                    return
                try:
                    future.set_result(work(*args, **kwargs))
                except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the result
                    future.set_exception(error)

        threading.Thread(target=call, daemon=True, name="strands-tool").start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing: the threads are daemons."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)


@contextlib.contextmanager
def clean_stdout() -> Iterator[TextIO]:
    """Send everything that writes to stdout meanwhile (tools, their child processes, C code) to stderr.

    Yields:
        A stream to the real stdout, for events.
    """
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # there is no descriptor 1; then only Python's own stream can be replaced
        with contextlib.redirect_stdout(sys.stderr):
            yield sys.__stdout__ or sys.stderr
        return
    try:
        with os.fdopen(os.dup(saved), "w", encoding="utf-8", closefd=True) as stream:
            os.dup2(2, 1)
            try:
                yield stream
            finally:
                sys.stdout.flush()
                os.dup2(saved, 1)
    finally:
        os.close(saved)
