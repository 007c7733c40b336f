"""`--log json`: stderr holds one JSON object per line and nothing else, for log collectors."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from strands_cli.cli.output import log_to, write_log
from strands_cli.cli.terminal.event_lines import line_for
from strands_cli.cli.terminal.run_view import View
from strands_cli.events import Event, HumanAsked, ModelText, RunFinished, RunWarning, StepFailed, StepFinished

DRAIN_S = 0.5
_END = b"\0strands: end of stderr\0\n"


class LogView(View):
    """Writes each event as one JSON line instead of the lines for a person."""

    def _show(self, event: Event) -> None:
        if isinstance(event, ModelText) and not self._verbose:
            return
        fields = event.as_dict()
        if isinstance(event, StepFinished) and not self._verbose:
            del fields["text"]
        write_log(_message(event), level=_level(event), event=fields)

    def tool_line(self, text: str) -> None:
        """Show a line that a tool has printed."""
        if not self._quiet:
            write_log(text, level="info", source="stdout")


def _message(event: Event) -> str:
    """Return the event's text for a person, as one line."""
    if isinstance(event, HumanAsked):
        return f"asks {event.key}: {event.prompt}"
    return " ".join((line_for(event) or type(event).__name__).split())


def _level(event: Event) -> str:
    if isinstance(event, StepFailed) or (isinstance(event, RunFinished) and event.status == "failed"):
        return "error"
    return "warning" if isinstance(event, RunWarning) else "info"


@contextlib.contextmanager
def json_stderr() -> Iterator[None]:
    """Write everything that goes to stderr as JSON from now on, until the process ends.

    Our own lines are written directly. What others write there (tools, their child processes, C libraries, Python's
    own warnings) comes through a pipe, one object per line. So stderr is not a terminal, and no question is asked.
    """
    try:
        sys.stderr.flush()
        real = os.dup(2)
    except (OSError, ValueError, AttributeError):  # stderr is closed: there is nothing to write the log to
        yield
        return
    reading, writing = os.pipe()
    log_to(open(real, "w", encoding="utf-8", errors="backslashreplace", closefd=False))  # noqa: SIM115
    os.dup2(writing, 2)
    os.close(writing)
    drained = threading.Event()
    listener = threading.Thread(target=_listen, args=(reading, drained), daemon=True, name="strands-stderr")
    listener.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
            os.write(2, b"\n" + _END)
            os.dup2(real, 2)
            drained.wait(DRAIN_S)


def _listen(reading: int, drained: threading.Event) -> None:
    """Write each line that arrives; a process that a tool has left behind may write after the end."""
    rest = b""
    while piece := os.read(reading, 65536):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line + b"\n" == _END:
                drained.set()
            elif text := line.decode("utf-8", "replace").strip():
                write_log(text, level="info", source="stderr")
