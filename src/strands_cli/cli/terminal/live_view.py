"""A run as lines on stderr."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from strands_cli.cli.foreign_output import reserved_stderr
from strands_cli.cli.output.messages import say, write_error, write_log
from strands_cli.cli.terminal.event_lines import line_for, progress_line, step_of
from strands_cli.events import (
    Denials,
    Event,
    HumanAsked,
    ModelCallFinished,
    ModelCallStarted,
    ModelRetried,
    ModelText,
    RunFinished,
    RunStarted,
    RunStatus,
    RunWarning,
    StepFailed,
    StepFinished,
    StepStarted,
    ToolProgress,
)
from strands_cli.texts.unicode_safety import printable

# Before each line of a model's streamed text.
_MODEL_SAYS = "  > "


class View:
    """Listens to events and prints a line for each that matters to a person.

    `run_id` is known once the run has started; `ended`, `denials` and `finished` once it has ended or waits.
    """

    # Whether progress is drawn below the lines.
    is_drawn = False

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.denials: tuple[Denials, ...] = ()
        self.finished: RunFinished | None = None
        self.run_id: str | None = None
        self.ended: RunStatus | None = None
        self._quiet = quiet
        self._verbose = verbose
        self._mid_line = False
        self._answering: dict[str, str] = {}  # by unfinished model call: the unshown part of a line
        self._failed: dict[str, str] = {}  # by the reason that a line shows: the step that failed
        self.is_announced = False
        self._paused = False
        self._held: list[Callable[[], None]] = []  # output that arrived while a question was shown
        # Events come from the run's loop, lines that tools print from a thread.
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Handle one event."""
        with self._lock:
            match event:
                case RunStarted():
                    self.run_id = event.run_id
                case RunFinished():
                    self.ended, self.denials, self.finished = event.status, event.denials, event
                case StepFailed() if not self._quiet:
                    self._failed[event.error] = event.key
            if not self._quiet or isinstance(event, RunWarning):
                self._show(event)

    def _show(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self.line(f"  start {event.key}  {event.who}")
        if isinstance(event, HumanAsked):
            self.line(f"  asks  {event.key}  {event.prompt}")
        if self._verbose:
            self._stream(event)
        if line := self._line_for(event):
            self.line(line)

    def _line_for(self, event: Event) -> str | None:
        """Return the line of an event; the first line of a run is there before its event."""
        return None if self.is_announced and isinstance(event, RunStarted) else line_for(event)

    def brief(self, reason: str) -> str | None:
        """Return the rest of a run's error whose reason is in the line of a step; None if it is in none."""
        key = self._failed.get(reason)
        return f"{key} failed" if key is not None and "\n" not in reason else None

    def loading(self, begins: RunStarted) -> None:
        """Show the first line of a run before its models and tools are loaded, which may take seconds."""
        if not self._quiet:
            self.line(line_for(begins) or "")
            self.is_announced = True

    def tool_line(self, text: str) -> None:
        """Show a line that a tool has printed."""
        if not self._quiet:
            self.line(f"  | {text}")

    def error_line(self, text: str) -> None:
        """Show a line that a tool, or a library of it, has written to stderr or logged."""
        self.line(text)

    def line(self, text: str) -> None:
        """Print one line; further lines of its text are indented, so that none of them looks like a line of ours."""
        with self._lock:
            if self._paused:
                self._held.append(lambda: self.line(text))
                return
            if self._mid_line:
                write_error("\n")
                self._mid_line = False
            self._print(text.rstrip("\n").replace("\n", "\n      "))

    def _print(self, text: str) -> None:
        say(text)

    def _stream(self, event: Event) -> None:
        """Show the text of models as it streams; where several answer at once, whole lines, each with its step."""
        match event:
            case ModelCallStarted():
                self._answering.setdefault(event.key, "")
            case ModelCallFinished() | ModelRetried():
                self._end_stream(event.key)
            case StepFailed():
                for key in [key for key in self._answering if step_of(key) == event.key]:
                    self._end_stream(key)
            case ModelText() if len(self._answering) < 2:
                self._text(event.text)
            case ModelText():
                *lines, rest = (self._answering.get(event.key, "") + event.text).split("\n")
                for line in lines:
                    self.line(f"{_MODEL_SAYS}{step_of(event.key)}: {line}")
                self._answering[event.key] = rest
            case ToolProgress():
                self.line(progress_line(event))

    def _end_stream(self, key: str) -> None:
        if rest := self._answering.pop(key, ""):
            self.line(f"{_MODEL_SAYS}{step_of(key)}: {rest}")

    def _text(self, piece: str) -> None:
        """Print a piece of a model's text as it streams, each line marked, so that none looks like a line of ours."""
        if self._paused:
            self._held.append(lambda: self._text(piece))
            return
        mark = "" if self._mid_line else _MODEL_SAYS
        ends = piece.endswith("\n")
        body = printable(piece[:-1] if ends else piece).replace("\n", f"\n{_MODEL_SAYS}")
        write_error(f"{mark}{body}" + ("\n" if ends else ""))
        self._mid_line = not ends

    def settle(self) -> None:
        """Show no more progress: only lines follow."""

    def before_notice(self) -> bytes:
        """Return the bytes that make room for a line that a signal writes."""
        return b"\n"

    def pause(self) -> None:
        """Hold output back while a question is shown: it would appear between the question and the typed answer."""
        with self._lock:
            if self._mid_line:
                write_error("\n")
                self._mid_line = False
            self._paused = True

    def unpause(self) -> None:
        """Print the output that was held back, and print at once again."""
        with self._lock:
            self._paused = False
            events, self._held = self._held, []
            for show in events:
                show()


# `--log json`: stderr holds one JSON object per line and nothing else, for log collectors.


class LogView(View):
    """Writes each event as one JSON line instead of the lines for a person."""

    def _show(self, event: Event) -> None:
        if isinstance(event, ModelText) and not self._verbose:
            return
        fields = event.as_dict()
        if isinstance(event, StepFinished) and not self._verbose:
            del fields["text"]
        write_log(_message(event), level=_level(event), event=fields)

    def loading(self, begins: RunStarted) -> None:
        """Show nothing: a line of the log is about a past event."""

    def brief(self, reason: str) -> str | None:
        """Return None: a line of a log is read by itself."""
        return None

    def tool_line(self, text: str) -> None:
        """Show a line that a tool has printed."""
        if not self._quiet:
            write_log(text, level="info", source="stdout")

    def error_line(self, text: str) -> None:
        """Show a record of a tool's log."""
        write_log(text, level="warning", source="stderr")


def _message(event: Event) -> str:
    """Return the event's text for a person, as one line."""
    if isinstance(event, HumanAsked):
        return f"asks {event.key}: {event.prompt}"
    return " ".join((line_for(event) or type(event).__name__).split())


def _level(event: Event) -> str:
    if isinstance(event, StepFailed) or (isinstance(event, RunFinished) and event.status == "failed"):
        return "error"
    return "warning" if isinstance(event, RunWarning) else "info"


def json_stderr() -> AbstractContextManager[None]:
    """Write everything that goes to stderr as JSON from now on, until the process ends.

    Output of others there is one object per line too. So stderr is not a terminal, and no question is asked.
    """
    return reserved_stderr(lambda line: write_log(line, level="info", source="stderr"), as_json=True)
