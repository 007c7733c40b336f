"""Output of others while this program works: tools, their child processes, C libraries, loggers and warnings.

Only results reach stdout, and nothing reaches the terminal without being redacted and escaped.
"""

from __future__ import annotations

import asyncio
import atexit
import codecs
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO, TypeVar

from strands_cli.cli.output.messages import real_stderr, say, write_to
from strands_cli.errors import HungUp, Interrupted, StrandsCliError, Terminated
from strands_cli.secrets.redactor import RedactedFormatter, redact_output
from strands_cli.system.daemon_threads import DaemonThreads as DaemonThreads

# The process around a run: signals stop it, and threads cannot delay its end.


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
    often send SIGTERM and SIGHUP twice, or both, so these do not shorten a begun stop.

    Args:
        start: Returns the coroutine.
        before_notice: Returns the bytes to write before the line about the first signal.
        reserves_streams: Whether stdin and stdout are for this program only while it works: tools read nothing, and
            their output becomes lines on stderr. At most once in a process.

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
    _undo.append(timer.cancel)


# Functions that undo what a stop has left, for a process that goes on.
_undo: list[Callable[[], Any]] = []


def go_on_after_stop() -> None:
    """Let the process live on after stopped work: no timer ends it, and signals have their old handlers."""
    while _undo:
        _undo.pop()()


async def _wait(task: asyncio.Task[Result]) -> Result:
    return await task


@contextlib.contextmanager
def _handlers(stopped: list[int], before_notice: Callable[[], bytes]) -> Iterator[list[Callable[[], Any]]]:
    """Let signals stop the work: each is added to `stopped`, and the first one calls the functions in the yielded list.

    The old handlers return afterwards, but not after a stop: a second SIGTERM would end the process, by its default,
    during the report of the stopped work.
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
        restoring = [partial(signal.signal, number, handler) for number, handler in before.items()]
        if stopped:
            _undo.extend(restoring)
        for restore in restoring if not stopped else ():
            restore()


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


OnLine = Callable[[str], None]
DRAIN_S = 0.5
LONGEST_LINE = 10_000
# A span is one line of JSON.
LONGEST_ERROR = 1_000_000
_END = "\0strands: all that was printed so far\0"
# Their records are about every failed call, which the run reports itself.
_SILENT = ("strands", "strands_tools", "mcp", "opentelemetry")


@dataclass(frozen=True, slots=True)
class RealStreams:
    """The real streams while tools have others: a descriptor for a person's answers, and a stream for results."""

    stdin: int
    stdout: TextIO


# The stdout of tools, and the real one, from the first run of the process to its end.
_stdouts: tuple[TextIO, TextIO] | None = None


@contextlib.contextmanager
def reserved_streams(on_line: OnLine, on_error_line: OnLine = say, *, verbose: bool = False) -> Iterator[RealStreams]:
    """Reserve stdin, stdout and stderr for this program while tools, their child processes and C code run.

    Their stdin is empty, so that none of them reads an answer for us. Descriptors 1 and 2 are not restored, since C
    libraries flush when the process ends and a timed-out tool may still print: this is for the program's own process
    only.

    Args:
        on_line: Gets each line that they write to stdout, in a separate thread.
        on_error_line: Gets each line that they write to stderr, in a separate thread, and each record of `logging`,
            warning, and exception that ended a thread.
        verbose: Whether these come with stack traces, and with the logs of the SDK.
    """
    global _stdouts
    with reserved_stderr(on_error_line), captured_logs(on_error_line, verbose=verbose):
        real_in = _replace(0, os.open(os.devnull, os.O_RDONLY))
        reading, writing = os.pipe()
        theirs: TextIO
        ours: TextIO
        if _stdouts is None:
            theirs = sys.stdout
            theirs.flush()
            ours = open(  # noqa: SIM115 - a descriptor, open as long as the process
                _replace(1, writing), "w", encoding=theirs.encoding, errors=theirs.errors, closefd=False
            )
            _stdouts = theirs, ours
        else:  # a former run of this process, as in a chat
            theirs, ours = _stdouts
            os.close(_replace(1, writing))
            sys.stdout = theirs
        listener = threading.Thread(target=_listen, args=(reading, on_line), daemon=True, name="strands-stdout")
        listener.start()
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


class _Stderr:
    """The pipe in the place of stderr, from its first use to the end of the process: late threads print too."""

    def __init__(self) -> None:
        self.on_line: OnLine = say
        self._has_output = threading.Event()
        reading, self._writing = os.pipe()
        os.set_inheritable(self._writing, False)
        os.dup2(self._writing, 2)
        threading.Thread(
            target=_listen, args=(reading, self._pass_on, LONGEST_ERROR), daemon=True, name="strands-stderr"
        ).start()
        atexit.register(self.drain)

    def _pass_on(self, line: str) -> None:
        if line == _END:
            self._has_output.set()
        elif line:
            self.on_line(line)

    def drain(self) -> None:
        """Wait until all that was printed so far is shown."""
        with contextlib.suppress(OSError, ValueError, AttributeError):  # a tool may have closed or replaced it
            sys.stderr.flush()
        self._has_output.clear()
        with contextlib.suppress(OSError):
            os.write(self._writing, f"\n{_END}\n".encode())
            self._has_output.wait(DRAIN_S)


_stderr: _Stderr | None = None


@contextlib.contextmanager
def reserved_stderr(on_line: OnLine, *, as_json: bool = False) -> Iterator[None]:
    """Reserve stderr for this program; output of others there goes to `on_line`, line by line.

    Args:
        on_line: Gets each line, in a separate thread.
        as_json: Whether our own lines are written as JSON from now on; all further calls have no effect then.
    """
    global _stderr
    if _stderr is None:
        try:
            sys.stderr.flush()
            real = open(  # noqa: SIM115 - a descriptor, open as long as the process
                os.dup(2), "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, closefd=False
            )
        except (OSError, ValueError, AttributeError):  # stderr is closed: there is nothing to write to
            yield
            return
        write_to(real, as_json=as_json)
        _stderr = _Stderr()
    elif _stderr.on_line is not say:
        yield
        return
    _stderr.on_line = on_line
    try:
        yield
    finally:
        _stderr.drain()
        if not as_json:
            _stderr.on_line = say


@contextlib.contextmanager
def captured_logs(on_line: OnLine, *, verbose: bool = False) -> Iterator[None]:
    """Send records of `logging`, warnings and exceptions in threads to `on_line`, whichever loggers tools make."""
    handler = _LineHandler(on_line)
    handler.setFormatter(_Formatter(verbose=verbose))
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    threading.excepthook = _log_exception
    loggers = [] if verbose else [logger for logger in map(logging.getLogger, _SILENT) if not logger.handlers]
    for logger in loggers:
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    try:
        yield
    finally:
        # Threads that a tool has left behind may log later.
        handler.on_line = say


class _LineHandler(logging.Handler):
    def __init__(self, on_line: OnLine) -> None:
        super().__init__(logging.WARNING)
        self.on_line = on_line

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.on_line(self.format(record))
        except Exception:  # noqa: BLE001 - as in the handlers of the standard library
            self.handleError(record)


class _Formatter(RedactedFormatter):
    """Formats a record as one line, or with its stack trace."""

    def __init__(self, *, verbose: bool) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._verbose = verbose

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name of the standard library
        """Return the stack trace; without `verbose` nothing, as the message has the exception."""
        return super().formatException(ei) if self._verbose else ""


def _log_exception(of: threading.ExceptHookArgs) -> None:
    """Log the exception that ended a thread of a tool."""
    if issubclass(of.exc_type, SystemExit):
        return
    name = of.thread.name if of.thread is not None else "?"
    info = of.exc_type, of.exc_value or of.exc_type(), of.exc_traceback
    logging.getLogger("threading").error("thread %s: %s: %s", name, of.exc_type.__name__, of.exc_value, exc_info=info)


def _replace(number: int, by: int) -> int:
    """Replace a descriptor's file and return a descriptor of the former one."""
    former = os.dup(number)
    os.dup2(by, number)
    os.close(by)
    return former


def _listen(reading: int, on_line: OnLine, longest: int = LONGEST_LINE) -> None:
    r"""Read lines until every writer has closed; of a line that was overwritten (`\r`) only the last state counts."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    while piece := os.read(reading, 65536):
        *lines, rest = (rest + decoder.decode(piece)).split("\n")
        for line in lines:
            on_line(redact_output(line.rstrip("\r").rpartition("\r")[2]))
        while len(rest) > longest:
            # The end may be the beginning of a secret.
            rest = redact_output(rest)
            length = min(longest, len(rest) // 2)
            on_line(rest[:length])
            rest = rest[length:]
    if rest:
        on_line(redact_output(rest))
    os.close(reading)
