"""The lines of a run, and on a terminal a status line below them."""

from __future__ import annotations

import os
import threading
import time

from strands_cli.cli.output import real_stderr, write_error
from strands_cli.cli.terminal.event_lines import activity_of, duration
from strands_cli.cli.terminal.run_view import View
from strands_cli.cli.text_layout import fitted
from strands_cli.events import Event, ModelCallFinished, ModelText, RunStarted, StepFailed, StepFinished
from strands_cli.unicode_safety import printable

REDRAW_S = 0.25
# The place of the activity before the first step.
_LOADING = ""


class StatusView(View):
    """The same lines, and below them a status line: the current activity, its duration, and the tokens so far."""

    def __init__(self) -> None:
        super().__init__()
        self._activities: dict[str, tuple[str, float]] = {}  # by step: its activity, and when it began
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

    def loading(self, begins: RunStarted) -> None:
        """Show the first line of the run, and what is done before it begins."""
        super().loading(begins)
        with self._lock:
            self._activities[_LOADING] = f"{begins.workflow} loads its models and tools", time.monotonic()
            self._draw()

    def _show(self, event: Event) -> None:
        self._follow(event)
        if line := self._line_for(event):
            self.line(line)
        elif not isinstance(event, ModelText):  # there are hundreds of them; the ticker shows them
            self._draw()

    def _follow(self, event: Event) -> None:
        """Update the activity of each unfinished step; the latest one is last."""
        if isinstance(event, RunStarted):
            self._activities.pop(_LOADING, None)
            self._began = time.monotonic()  # the run's last line counts from here too
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
        """Remove the status line while a question is shown."""
        with self._lock:
            self._wipe()
            super().pause()

    def unpause(self) -> None:
        """Show the status line again."""
        with self._lock:
            super().unpause()
            self._draw()

    def _tick(self) -> None:
        while not self._over.wait(REDRAW_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if self._paused or self._over.is_set() or not self._activities:
            return
        # Spaces and a carriage return only: nothing that changes the terminal's state if the process is killed.
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
        what = f"{key} {text}".lstrip()
        return printable(f"{duration(now - self._began)}{tokens}: {what}{lasting}{received}{others}")


def terminal_columns() -> int:
    """Return the current width of the terminal at stderr."""
    try:
        return os.get_terminal_size(real_stderr().fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def wants_status() -> bool:
    """Return whether stderr is a terminal that can overwrite a line."""
    return real_stderr().isatty() and os.environ.get("TERM") != "dumb"
