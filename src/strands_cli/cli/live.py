"""What a person sees of a run while it goes on: lines on stderr, and on a terminal a status line below them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from strands_cli.cli.output import colour_wanted, printable, say
from strands_cli.errors import ArtifactError
from strands_cli.events import (
    Event,
    ModelCallStarted,
    ModelText,
    RunFinished,
    RunStarted,
    StepFailed,
    StepFinished,
    StepStarted,
    ToolCallDecided,
    ToolCallFinished,
)


class View:
    """Listens to events and prints a line for what a person wants to know.

    `denied` collects the tools whose calls were denied, with the rule; `run_id` is known once the run has started.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.denied: dict[str, str] = {}
        self.run_id: str | None = None
        self._quiet = quiet
        self._verbose = verbose
        self._told = False

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, RunStarted):
            self.run_id = event.run_id
        if isinstance(event, ToolCallDecided) and event.effect == "deny":
            self.denied[event.tool] = event.rule
        if self._quiet:
            return
        if self._verbose and isinstance(event, ModelText):
            self.text(event.text)
        elif line := line_for(event):
            self.line(line)
        if status := status_for(event):
            self.status(status)

    def line(self, text: str) -> None:
        """Print one line."""
        if self._told:
            sys.stderr.write("\n")
            self._told = False
        say(text)

    def text(self, piece: str) -> None:
        """Print a piece of a model's text as it streams."""
        sys.stderr.write(printable(piece))
        sys.stderr.flush()
        self._told = not piece.endswith("\n")

    def status(self, text: str) -> None:
        """Show what is going on now; a plain view shows nothing that would have to be wiped out again."""

    def pause(self) -> None:
        """Leave the terminal to a question."""

    def go_on(self) -> None:
        """Take the terminal back."""


class StatusView(View):
    """On a terminal: the same lines, and a spinner with what is going on now."""

    def __init__(self, *, verbose: bool) -> None:
        from rich.console import Console

        super().__init__(verbose=verbose)
        self._status = Console(stderr=True).status("starting")

    def __enter__(self) -> StatusView:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def line(self, text: str) -> None:
        """Print one line above the spinner."""
        from rich.text import Text

        self._status.console.print(Text(printable(text)), soft_wrap=True)

    def text(self, piece: str) -> None:
        """Pieces of text and a spinner would overwrite each other: stop the spinner for good."""
        self._status.stop()
        super().text(piece)

    def status(self, text: str) -> None:
        """Show what is going on now."""
        from rich.markup import escape

        self._status.update(escape(printable(text)))

    def pause(self) -> None:
        """Stop the spinner while a question stands there."""
        self._status.stop()

    def go_on(self) -> None:
        """Start it again."""
        self._status.start()


@contextlib.contextmanager
def open_view(*, quiet: bool, verbose: bool) -> Iterator[View]:
    """Return the view that fits stderr: a spinner only where a terminal can show it and nothing else streams."""
    if quiet or verbose or not colour_wanted(sys.stderr):
        yield View(quiet=quiet, verbose=verbose)
        return
    with StatusView(verbose=verbose) as view:
        yield view


def line_for(event: Event) -> str | None:
    """Return the line that an event is worth, or None."""
    match event:
        case RunStarted():
            return f"run {event.run_id}: {event.workflow} ({event.pattern}, {_count(event.steps, 'step')})"
        case StepFinished():
            tokens = f", {event.usage.total_tokens} tokens" if event.usage.total_tokens else ""
            how = "from the record" if event.replayed else f"{event.seconds:.1f} s{tokens}"
            return f"  done  {event.key}  {event.who}  ({how})"
        case StepFailed():
            return f"  FAILED {event.key}  {event.who}: {event.error.splitlines()[0]}"
        case ToolCallFinished():
            outcome = event.error_code or "ok"
            cut = ", output cut" if event.truncated else ""
            return f"  tool  {event.key.partition('/')[0]}  {event.tool}  ({outcome}, {event.seconds:.1f} s{cut})"
        case RunFinished(status="completed"):
            calls = f"{_count(event.model_calls, 'model call')}, {_count(event.tool_calls, 'tool call')}"
            return f"completed in {event.seconds:.1f} s: {calls}, {event.usage.total_tokens} tokens"
        case RunFinished():
            return f"{event.status} after {event.seconds:.1f} s"
    return None


def status_for(event: Event) -> str | None:
    """Return what a spinner says after this event, or None to leave it."""
    match event:
        case StepStarted():
            return f"{event.key}: {event.who}"
        case ModelCallStarted():
            return f"{event.key.partition('/')[0]}: {event.agent} asks {event.model}"
        case ToolCallDecided(effect="allow"):
            return f"{event.key.partition('/')[0]}: {event.tool}"
    return None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def event_writer(target: str | None, stdout: TextIO) -> list[Callable[[Event], None]]:
    """Return a listener that writes JSON Lines to a file, or to stdout for `-`; none without a target.

    Raises:
        ArtifactError: the file cannot be opened.
    """
    if target is None:
        return []
    if target == "-":
        stream = stdout
    else:
        try:
            stream = Path(target).open("w", encoding="utf-8")  # noqa: SIM115 - open as long as the process
        except OSError as error:
            raise ArtifactError(f"cannot write events to {target}: {error.strerror or error}") from error

    def write(event: Event) -> None:
        line: Any = json.dumps(event.as_dict(), ensure_ascii=False, default=str)
        stream.write(line + "\n")
        stream.flush()

    return [write]
