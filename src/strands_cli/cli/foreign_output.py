"""What others print while this program works: tools, their child processes, C libraries, loggers and warnings.

Only results reach stdout, and nothing reaches the terminal without being redacted and escaped.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from strands_cli.cli.output.messages import say, write_to
from strands_cli.secrets.process_streams import RedactedFormatter, redact_output

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


@contextlib.contextmanager
def reserved_streams(on_line: OnLine, on_error_line: OnLine = say, *, verbose: bool = False) -> Iterator[RealStreams]:
    """Reserve stdin, stdout and stderr for this program while tools, their child processes and C code run.

    Their stdin is empty, so that none of them reads an answer that is meant for us. Descriptors 1 and 2 are not
    restored, since C libraries flush when the process ends and a tool that has timed out may still print: this is for
    the program's own process only.

    Args:
        on_line: Gets each line that they write to stdout, in a separate thread.
        on_error_line: Gets each line that they write to stderr, in a separate thread, and each record of `logging`,
            warning, and exception that ended a thread.
        verbose: Whether these come with stack traces, and with the logs of the SDK.
    """
    with reserved_stderr(on_error_line), captured_logs(on_error_line, verbose=verbose):
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


class _Stderr:
    """The pipe in the place of stderr, from its first use to the end of the process: late threads print too."""

    def __init__(self) -> None:
        self.on_line: OnLine = say
        self._seen = threading.Event()
        reading, self._writing = os.pipe()
        os.set_inheritable(self._writing, False)
        os.dup2(self._writing, 2)
        threading.Thread(
            target=_listen, args=(reading, self._pass_on, LONGEST_ERROR), daemon=True, name="strands-stderr"
        ).start()
        atexit.register(self.drain)

    def _pass_on(self, line: str) -> None:
        if line == _END:
            self._seen.set()
        elif line:
            self.on_line(line)

    def drain(self) -> None:
        """Wait until all that was printed so far is shown."""
        with contextlib.suppress(OSError, ValueError, AttributeError):  # a tool may have closed or replaced it
            sys.stderr.flush()
        self._seen.clear()
        with contextlib.suppress(OSError):
            os.write(self._writing, f"\n{_END}\n".encode())
            self._seen.wait(DRAIN_S)


_stderr: _Stderr | None = None


@contextlib.contextmanager
def reserved_stderr(on_line: OnLine, *, as_json: bool = False) -> Iterator[None]:
    """Reserve stderr for this program; what others write there goes to `on_line`, line by line.

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
    """Log what ended a thread of a tool."""
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
            cut = min(longest, len(rest) // 2)
            on_line(rest[:cut])
            rest = rest[cut:]
    if rest:
        on_line(redact_output(rest))
    os.close(reading)
