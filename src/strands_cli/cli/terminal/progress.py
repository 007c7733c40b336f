"""What a person sees of a run while it goes on: lines on stderr, and on a terminal a status line below them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from strands_cli.cli.terminal.output import fitted, json_text, printable, say, says_json, write_error
from strands_cli.errors import ArtifactError
from strands_cli.events import (
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
    ToolCallDecided,
    ToolCallFinished,
)

REDRAW_S = 0.25
# Before each line that a model says, where that is streamed.
_MODEL_SAYS = "  > "


class View:
    """Listens to events and prints a line for what a person wants to know.

    `denied` collects the tools whose calls were denied, with the rule; `run_id` is known once the run has started,
    `ended` once it has come to rest.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.denied: dict[str, str] = {}
        self.run_id: str | None = None
        self.ended: RunStatus | None = None
        self._quiet = quiet
        self._verbose = verbose
        self._mid_line = False
        self._paused = False
        self._held: list[Callable[[], None]] = []  # what came while a question stood there
        # Events come from the run's loop, what tools print from a thread.
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        with self._lock:
            match event:
                case RunStarted():
                    self.run_id = event.run_id
                case RunFinished():
                    self.ended = event.status
                case ToolCallDecided(effect="deny"):
                    self.denied[event.tool] = event.rule
            if not self._quiet:
                self._show(event)

    def _show(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self.line(f"  start {event.key}  {event.who}")
        if isinstance(event, HumanAsked):
            self.line(f"  asks  {event.key}  {event.prompt}")
        if isinstance(event, ModelText) and self._verbose:
            self._text(event.text)
        elif line := line_for(event):
            self.line(line)

    def hear(self, text: str) -> None:
        """Take a line that a tool has printed."""
        if not self._quiet:
            self.line(f"  | {text}")

    def line(self, text: str) -> None:
        """Print one line; further lines of its text are indented, so that none of them passes for a line of ours."""
        with self._lock:
            if self._paused:
                self._held.append(lambda: self.line(text))
                return
            if self._mid_line:
                write_error("\n")
                self._mid_line = False
            say(text.rstrip("\n").replace("\n", "\n      "))

    def _text(self, piece: str) -> None:
        """Print a piece of a model's text as it streams, each line marked, so that none passes for a line of ours."""
        if self._paused:
            self._held.append(lambda: self._text(piece))
            return
        begun = "" if self._mid_line else _MODEL_SAYS
        ends = piece.endswith("\n")
        body = printable(piece[:-1] if ends else piece).replace("\n", f"\n{_MODEL_SAYS}")
        write_error(f"{begun}{body}" + ("\n" if ends else ""))
        self._mid_line = not ends

    def pause(self) -> None:
        """Leave the terminal to a question: what comes meanwhile would stand between it and what is typed."""
        with self._lock:
            if self._mid_line:
                write_error("\n")
                self._mid_line = False
            self._paused = True

    def go_on(self) -> None:
        """Take the terminal back, and print what was held."""
        with self._lock:
            self._paused = False
            held, self._held = self._held, []
            for show in held:
                show()


class StatusView(View):
    """On a terminal: the same lines, and below them one that says what is going on, since when, at how many tokens."""

    def __init__(self) -> None:
        super().__init__()
        self._activities: dict[str, tuple[str, float]] = {}  # by step: what it does, and since when
        self._tokens = 0
        self._received = 0
        self._began = time.monotonic()
        self._drawn = 0
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True, name="strands-status")

    def __enter__(self) -> StatusView:
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with self._lock:
            self._wipe()

    def _show(self, event: Event) -> None:
        self._follow(event)
        if line := line_for(event):
            self.line(line)
        elif not isinstance(event, ModelText):  # those come by the hundred; the ticker will show them
            self._draw()

    def _follow(self, event: Event) -> None:
        """Keep what each unfinished step is doing; the latest news stands last."""
        if isinstance(event, ModelCallFinished):
            self._tokens += event.usage.total_tokens
        if isinstance(event, ModelText):
            self._received += len(event.text)
            return
        if isinstance(event, (StepFinished, StepFailed)):
            self._activities.pop(event.key, None)
        elif activity := activity_of(event):
            key, text = activity
            self._activities.pop(key, None)
            self._activities[key] = text, time.monotonic()
            self._received = 0

    def line(self, text: str) -> None:
        """Print one line above the status."""
        with self._lock:
            self._wipe()
            super().line(text)
            self._draw()

    def pause(self) -> None:
        """Take the status away while a question stands there."""
        with self._lock:
            self._wipe()
            super().pause()

    def go_on(self) -> None:
        """Show it again."""
        with self._lock:
            super().go_on()
            self._draw()

    def _tick(self) -> None:
        while not self._over.wait(REDRAW_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if self._paused or self._over.is_set() or not self._activities:
            return
        # Spaces and a carriage return: nothing that would stay behind in a terminal if the process is killed.
        text, width = fitted(self.status(), terminal_columns() - 1)
        write_error("\r" + text + " " * (self._drawn - width) + "\r")
        self._drawn = width

    def _wipe(self) -> None:
        if self._drawn:
            write_error("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def status(self) -> str:
        """Return the status as one line of printable text."""
        now = time.monotonic()
        key, (text, since) = next(reversed(self._activities.items()))
        lasting = f" for {duration(now - since)}" if now - since >= 1 else ""
        others = f" (and {len(self._activities) - 1} more)" if len(self._activities) > 1 else ""
        received = f", {self._received} characters" if self._received else ""
        tokens = f", {self._tokens} tokens" if self._tokens else ""
        return printable(f"{duration(now - self._began)}{tokens}: {key} {text}{lasting}{received}{others}")


def terminal_columns() -> int:
    """Return how wide the terminal at stderr is now."""
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def wants_status() -> bool:
    """Return whether stderr is a terminal that can overwrite a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextlib.contextmanager
def open_view(*, quiet: bool, verbose: bool) -> Iterator[View]:
    """Return the view that fits stderr: a status only where a terminal can show it and nothing else streams."""
    if says_json():
        from strands_cli.cli.terminal.log_view import LogView

        yield LogView(quiet=quiet, verbose=verbose)
        return
    if quiet or verbose or not wants_status():
        yield View(quiet=quiet, verbose=verbose)
        return
    with StatusView() as view:
        yield view


def line_for(event: Event) -> str | None:
    """Return the line that an event is worth, or None."""
    match event:
        case RunStarted():
            return f"run {event.run_id}: {event.workflow} ({event.pattern}, {_count(event.steps, 'step')})"
        case StepFinished():
            tokens = f", {event.usage.total_tokens} tokens" if event.usage.total_tokens else ""
            how = "from the record" if event.replayed else f"{duration(event.seconds)}{tokens}"
            return f"  done  {event.key}  {event.who}  ({how})"
        case StepFailed():
            first_line = event.error.partition("\n")[0]
            return f"  FAILED {event.key}  {event.who}: {first_line}"
        case ToolCallFinished():
            outcome = event.error_code or "ok"
            cut = ", output cut" if event.truncated else ""
            return f"  tool  {event.key.rpartition('/')[0]}  {event.tool}  ({outcome}, {duration(event.seconds)}{cut})"
        case ModelRetried():
            reason = event.reason.splitlines()[0]
            return f"  retry {step_of(event.key)}  {event.agent}, in {duration(event.wait_s)}: {reason}"
        case RunWarning(message=message):
            return f"warning: {message}"
        case RunFinished(status="completed"):
            calls = f"{_count(event.model_calls, 'model call')}, {_count(event.tool_calls, 'tool call')}"
            cost = ", cost unknown" if event.cost_usd is None else f", ${event.cost_usd:.4f}" if event.cost_usd else ""
            return f"completed in {duration(event.seconds)}: {calls}, {event.usage.total_tokens} tokens{cost}"
        case RunFinished():
            return f"{event.status} after {duration(event.seconds)}"
    return None


def activity_of(event: Event) -> tuple[str, str] | None:
    """Return the step that an event belongs to and what it does from now on, or None where that stays as it was."""
    match event:
        case StepStarted():
            return event.key, event.who
        case ModelCallStarted():
            return step_of(event.key), f"{event.agent} asks {event.model}"
        case ToolCallDecided(effect="allow"):
            return step_of(event.key), f"calls {event.tool}"
    return None


def step_of(key: str) -> str:
    """Return the key of the innermost step that a call belongs to; a tool of tools is no step."""
    return re.sub(r"(/(tool|model|summary)\.[^/]*)+$", "", key)


def duration(seconds: float) -> str:
    """Return a length of time as short as it can be read."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def event_writer(target: str | None, stdout: TextIO) -> list[Callable[[Event], None]]:
    """Return a listener that writes JSON Lines to a file, or to stdout for `-`; none without a target."""
    if target is None:
        return []
    stream, name = (stdout, "stdout") if target == "-" else (open_events(target), target)
    taken = True

    def write(event: Event) -> None:
        nonlocal taken
        if not taken:
            return
        try:
            stream.write(json_text(event.as_dict()) + "\n")
            stream.flush()
        except (OSError, ValueError) as error:
            # A run that has begun is worth more than the account of it.
            taken = False
            reason = getattr(error, "strerror", None) or error
            say(f"warning: events can no longer be written to {name}: {reason}; the run goes on")

    return [write]


def open_events(target: str) -> TextIO:
    """Open the file for events.

    Raises:
        ArtifactError: that is not possible.
    """
    try:
        return Path(target).open("w", encoding="utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise ArtifactError(f"cannot write events to {target}: {reason}", fix="choose another file") from error
