"""The progress of a run and its usage so far, as a few lines that fit a terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from strands_cli.cli.output.messages import logs_json, real_stderr, say, write_error
from strands_cli.cli.terminal.event_lines import activity_of, step_of
from strands_cli.cli.terminal.live_view import LogView, View
from strands_cli.cli.terminal_text import fitted, one_line
from strands_cli.events import (
    Event,
    ModelCallFinished,
    ModelRetried,
    ModelText,
    RunFinished,
    RunStarted,
    StepFailed,
    StepFinished,
    ToolCallDecided,
    ToolCallFinished,
    ToolProgress,
    Usage,
)
from strands_cli.secrets.redactor import redact_output
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.workflow.sections import Budgets


# The last rows of a text that streams, broken at the width of the terminal.


# More than fits into any block; older rows are never shown again.
KEPT_ROWS = 8
KEPT_CHARACTERS = 8_000


class StreamedText:
    """Takes pieces at the cost of a list; the one that draws pays for the layout, once per character."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._kept = ""
        self._rows: deque[str] = deque(maxlen=KEPT_ROWS)
        self._open = ""  # the row that the next piece goes on with
        self._is_inside = False  # whether that row begins inside a line
        self._columns = 0

    def feed(self, piece: str) -> None:
        """Add a piece."""
        self._pieces.append(piece)

    def rows(self, columns: int, most: int) -> list[str]:
        """Return up to `most` last rows with text, each of printable text of at most `columns` columns."""
        columns = max(2, columns)  # any character fits
        new = "".join(self._pieces)[-KEPT_CHARACTERS:]
        self._pieces.clear()
        self._kept = (self._kept + new)[-KEPT_CHARACTERS:]
        if columns != self._columns:
            self._columns, new = columns, self._kept
            self._rows.clear()
            self._open, self._is_inside = "", False
        self._lay_out(new)
        rows = [*self._rows, self._open] if self._open.strip() else [*self._rows]
        return rows[-most:] if most > 0 else []

    def _lay_out(self, text: str) -> None:
        first, *others = text.split("\n")
        self._extend(first)
        for line in others:
            self._close()
            self._is_inside = False
            self._extend(line)

    def _extend(self, text: str) -> None:
        """Add text without a line end to the open row, and close each full row."""
        rest = self._open + printable(text.replace("\t", "    "))
        while True:
            rest = rest.lstrip(" ") if self._is_inside else rest
            row, _ = fitted(rest, self._columns)
            if len(row) == len(rest) or not row:
                self._open = row
                return
            row = _at_a_space(row, rest)
            self._open, rest = row, rest[len(row) :]
            self._close()
            self._is_inside = True

    def _close(self) -> None:
        if self._open.strip():
            self._rows.append(self._open.rstrip())
        self._open = ""


def _at_a_space(row: str, rest: str) -> str:
    """Return a row without the word that it would break, unless the word is long."""
    if rest[len(row)] == " ":
        return row
    whole, space, _ = row.rpartition(" ")
    return whole + space if len(whole) > len(row) // 2 else row


# A few lines drawn in place at the end of the text on a terminal.
#
# Between two writes the cursor is where the block begins. So the next writer, the shell after a SIGKILL too,
# is where the block was, a terminal that breaks the lines of the block again keeps that place, and one code that erases
# from there removes the block. A frame is one write, and leaves nothing switched on or off.


# To the start of the line, and erase from there to the end of the screen.
ERASE = "\r\x1b[J"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_ERASE_LINE = "\x1b[K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


def frame(lines: Sequence[str]) -> str:
    """Return the codes that draw a block at the cursor, over the old one, and return the cursor; or that erase it."""
    if not lines:
        return ERASE
    up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
    rows = f"{_ERASE_LINE}\n\r".join(lines)
    # The terminal may have become narrower since it was asked: a line that wraps would move the block.
    return f"{_NO_WRAP}\r{rows}\x1b[J\r{up}{_WRAP}"


def dim(text: str) -> str:
    """Return a faint text, unless `NO_COLOR` is set."""
    return text if os.environ.get("NO_COLOR") else f"{_DIM}{text}{_PLAIN}"


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Return the columns and rows of the terminal at a stream; 80 and 24 where it does not say."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return size.columns or 80, size.lines or 24


def can_draw(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that understands these codes, with a person in front of it."""
    if os.environ.get("TERM", "dumb") == "dumb" and "WT_SESSION" not in os.environ:
        return False
    return stream.isatty() and not os.environ.get("CI")


def is_in_front(stream: TextIO) -> bool:
    """Return whether the terminal is this process's to draw on: not while another job of the shell has it."""
    if sys.platform == "win32":
        return True
    try:
        return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except (OSError, ValueError):  # it is not the terminal that controls this process, so no shell shares it
        return True


MOST_STEPS = 4
MOST_TEXT = 3
_BAR = 10
# The place of the activity before the first step.
_LOADING = ""
_MODEL_SAYS = "  > "


@dataclass(slots=True)
class RunSpending:
    """The usage of a run, with its earlier processes; `cost_usd` is None if unknown."""

    usage: Usage = field(default_factory=Usage)
    model_calls: int = 0
    tool_calls: int = 0
    cost_usd: float | None = 0.0
    earlier_s: float = 0.0

    def add(self, event: Event) -> None:
        """Count the usage in an event; effects from the journal were counted when the run started."""
        if isinstance(event, RunStarted):
            self.usage, self.model_calls, self.tool_calls = event.usage, event.model_calls, event.tool_calls
            self.cost_usd, self.earlier_s = event.cost_usd, event.seconds
        elif isinstance(event, ModelCallFinished) and not event.replayed:
            self.usage += event.usage
            self.model_calls += 1
            is_known = self.cost_usd is not None and event.cost_usd is not None
            self.cost_usd = (self.cost_usd or 0.0) + (event.cost_usd or 0.0) if is_known else None
        elif isinstance(event, ToolCallFinished) and not event.replayed:
            self.tool_calls += 1

    def shares(self, limits: Budgets | None, seconds: float) -> list[tuple[float, str]]:
        """Return the used share of each limit, the largest first, with the name of the limited amount."""
        if limits is None:
            return []
        used = [
            (limits.max_tokens, self.usage.total_tokens, "tokens"),
            (limits.max_cost_usd, self.cost_usd, "cost"),
            (limits.max_model_calls, self.model_calls, "model calls"),
            (limits.max_tool_calls, self.tool_calls, "tool calls"),
            (limits.max_duration_s, seconds + self.earlier_s, "time"),
        ]
        shares = [(spent / limit, name) for limit, spent, name in used if limit and spent is not None]
        return sorted(shares, key=lambda share: -int(share[0] * 100))


@dataclass(slots=True)
class _Activity:
    """The action of one step, its start, and the number of received characters of its model's text.

    `calls` are its tool calls that go on, by key: the text and the beginning of each.
    """

    text: str
    since: float
    received: int = 0
    calls: dict[str, tuple[str, float]] = field(default_factory=dict)

    def begin_call(self, key: str, text: str, now: float) -> None:
        """Take that a call begins, or goes on with another text."""
        self.calls[key] = text, self.calls.get(key, ("", now))[1]
        self._show_a_call()

    def end_call(self, key: str) -> None:
        """Show another call that goes on; after the last one the step is as it was until its next event."""
        if self.calls.pop(key, None) and self.calls:
            self._show_a_call()

    def _show_a_call(self) -> None:
        text, self.since = next(iter(self.calls.values()))
        self.text = f"{text} and {len(self.calls) - 1} more" if len(self.calls) > 1 else text


class RunProgress:
    """Follows the events of a run; `lines` says where it is."""

    def __init__(self, limits: Budgets | None = None) -> None:
        self._limits = limits
        self._spent = RunSpending()
        self._began = time.monotonic()
        self._activities: dict[str, _Activity] = {}  # by step, in the order in which they began
        self._speaker: str | None = None  # the model call whose text is shown
        self._is_speaking = False
        self._text = StreamedText()

    def loading(self, workflow: str) -> None:
        """Take that the models and tools of a workflow are being loaded."""
        self._activities[_LOADING] = _Activity(f"{workflow} loads its models and tools", time.monotonic())

    def follow(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, ModelText):  # there are thousands of them
            self._hear(event)
            return
        self._spent.add(event)
        match event:
            case RunStarted():
                self._activities.pop(_LOADING, None)
                self._began = time.monotonic()  # the run's last line counts from here too
            case RunFinished():
                self._activities.clear()
            case ModelCallFinished() | ModelRetried() if event.key == self._speaker:
                self._is_speaking = False
            case StepFinished() | StepFailed():
                self._end(event.key)
            case ToolCallFinished() if activity := self._activities.get(step_of(event.key)):
                activity.end_call(event.key)
        if begins := activity_of(event):
            self._begin(event, *begins)

    def _begin(self, event: Event, step: str, text: str) -> None:
        before, now = self._activities.get(step), time.monotonic()
        if before is not None and isinstance(event, (ToolCallDecided, ToolProgress)):
            before.begin_call(event.key, text, now)
        else:
            self._activities[step] = _Activity(text, now)

    def _hear(self, event: ModelText) -> None:
        """Take a piece of text; of several models that answer at once the first is shown until it has answered."""
        if event.key != self._speaker and not self._is_speaking:
            self._speaker, self._text = event.key, StreamedText()
            self._is_speaking = True
        if event.key == self._speaker:
            self._text.feed(event.text)
        if activity := self._activities.get(step_of(event.key)):
            activity.received += len(event.text)

    def _end(self, step: str) -> None:
        self._activities.pop(step, None)
        if self._speaker is not None and step_of(self._speaker) == step:
            self._speaker, self._is_speaking = None, False

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return the lines for a terminal of this size, none if nothing goes on: totals, steps, the text that comes.

        None is wider than the terminal, and together they leave it a row or more; the text gives way first.
        """
        if not self._activities:
            return []
        room = max(1, min(1 + MOST_STEPS + 1 + MOST_TEXT, rows - 2))
        now, width = time.monotonic(), max(1, columns - 1)
        if _LOADING in self._activities:  # the time of the run has not begun
            return [_cut(self._steps(now, 1)[0], width)]
        if room == 1:
            return [_cut(f"{self._totals(now)}: {self._steps(now, 1)[0]}", width)]
        steps = self._steps(now, min(MOST_STEPS, room - 1))
        lines = [_cut(text, width) for text in (self._totals(now), *(f"  {step}" for step in steps))][:room]
        return lines + self._text_rows(width, min(MOST_TEXT, room - len(lines)))

    def _totals(self, now: float) -> str:
        usage, cost = self._spent.usage, self._spent.cost_usd
        seconds = now - self._began
        parts = [
            whole_seconds(seconds),
            usage.marked_total if usage.total_tokens else "",
            f"${cost:.4f}" if cost else "",
        ]
        shares = self._spent.shares(self._limits, seconds)
        if shares:
            filled = min(_BAR, int(shares[0][0] * _BAR))
            named = ", ".join(f"{share:.0%} of {name}" for share, name in shares)
            parts.append(f"budget [{'#' * filled}{'.' * (_BAR - filled)}] {named}")
        return ", ".join(filter(None, parts))

    def _steps(self, now: float, most: int) -> list[str]:
        """Return a line for each step that goes on, and one for those beyond `most` lines."""
        activities = list(self._activities.items())
        more = len(activities) - most if len(activities) > most else 0
        lines = [
            self._step(key, activity, now) for key, activity in activities[: most if not more else max(1, most - 1)]
        ]
        hidden = len(activities) - len(lines)
        return [*lines, f"and {hidden} more"][: max(most, 1)] if hidden else lines

    def _step(self, key: str, activity: _Activity, now: float) -> str:
        lasting = now - activity.since
        for_ = f", {whole_seconds(lasting)}" if lasting >= 1 else ""
        is_shown = self._speaker is not None and step_of(self._speaker) == key
        received = f", {activity.received} characters" if activity.received and not is_shown else ""
        return f"{key}  {activity.text}{for_}{received}".lstrip()

    def _text_rows(self, width: int, most: int) -> list[str]:
        if self._speaker is None:
            return []
        rows = self._text.rows(max(1, width - len(_MODEL_SAYS)), most)
        return [dim(_cut(f"{_MODEL_SAYS}{row}", width)) for row in rows]


def whole_seconds(seconds: float) -> str:
    """Return a duration that changes once a second: `7 s`, `3 min 05 s`."""
    return f"{int(seconds)} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def _cut(text: str, width: int) -> str:
    """Return the start of a text as a line; a secret is hidden before it could be cut in two."""
    return fitted(printable(one_line(redact_output(text))), width)[0]


# The lines of a run, and on a terminal a block below them that shows its progress in place.


REDRAW_S = 0.125
# How long a signal waits for another thread that draws.
_PATIENCE_S = 0.2


class Progress(Protocol):
    """The content of a block."""

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return the lines for a terminal of this size."""


class BlockView(View):
    """The same lines, and below them a block with the progress. A thread draws it."""

    is_drawn = True

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._drawn = ""  # the frame on the terminal
        self._over = threading.Event()
        self._is_stopped = False  # by Ctrl-Z
        self._ticker = threading.Thread(target=self._tick, daemon=True, name="strands-status")
        self._before: Any = None  # the handler of SIGTSTP

    def __enter__(self) -> Self:
        self._take_stop_signal()
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()
        if self._before is not None:
            signal.signal(signal.SIGTSTP, self._before)

    def settle(self) -> None:
        """Remove the block for good."""
        self._over.set()
        with self._lock:
            self._wipe()

    def _print(self, text: str) -> None:
        """Print one line in the place of the block, and the block below it, in one write; an absent block can wait."""
        block = self._frame() if self._drawn else ""
        say(text, before=ERASE if self._drawn else "", after=block)
        self._drawn = block

    def pause(self) -> None:
        """Remove the block while a question is shown."""
        with self._lock:
            self._wipe()
            super().pause()

    def before_notice(self) -> bytes:
        """Return the codes that make room for a line that a signal writes."""
        return ERASE.encode() if self._drawn else super().before_notice()

    def _tick(self) -> None:
        while not self._over.wait(REDRAW_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        block = self._frame()
        if block != self._drawn:
            write_error(block or ERASE)
            self._drawn = block

    def _frame(self) -> str:
        """Return the codes that draw the present block; nothing where there is none, or no place for it."""
        stream = real_stderr()
        if self._paused or self._is_stopped or self._over.is_set() or not is_in_front(stream):
            return ""
        lines = self._progress.lines(*terminal_size(stream))
        return frame(lines) if lines else ""

    def _wipe(self) -> None:
        if self._drawn:
            write_error(ERASE)
            self._drawn = ""

    def _take_stop_signal(self) -> None:
        """Remove the block before Ctrl-Z stops the process; `fg` shows it again."""
        if not hasattr(signal, "SIGTSTP") or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
            self._before = signal.signal(signal.SIGTSTP, self._stop)

    def _stop(self, number: int, _frame: object) -> None:
        self._is_stopped = True
        # The other thread may hang in a write to a terminal stopped by Ctrl-S.
        is_ours = self._lock.acquire(timeout=_PATIENCE_S)
        if self._drawn:
            with contextlib.suppress(OSError, ValueError):  # the terminal has gone
                os.write(real_stderr().fileno(), ERASE.encode())
            self._drawn = ""
        if is_ours:
            self._lock.release()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # returns when the process is continued
        signal.signal(number, self._stop)
        self._is_stopped = False


class StatusView(BlockView):
    """The lines of a run, and below them its totals, its steps, and the text that comes."""

    def __init__(self, limits: Budgets | None = None) -> None:
        self.progress = RunProgress(limits)
        super().__init__(self.progress)

    def loading(self, begins: RunStarted) -> None:
        """Show the first line of the run, and the work before it begins."""
        with self._lock:
            super().loading(begins)
            self.progress.loading(begins.workflow)
            self._draw()

    def _show(self, event: Event) -> None:
        self.progress.follow(event)
        if line := self._line_for(event):
            self.line(line)


# Choose the view of a run that fits stderr: lines, lines with its progress below them, or JSON.


@contextlib.contextmanager
def open_view(
    *, quiet: bool, verbose: bool, limits: Budgets | None = None, progress: Progress | None = None
) -> Iterator[View]:
    """Open the view that fits stderr: progress only on a terminal that can show it while nothing else streams.

    Args:
        quiet: Show no lines.
        verbose: Show the text of models and the progress of tools as lines.
        limits: The budgets of the run, of which the progress shows the used share.
        progress: The content of the block in place of the progress of a run.
    """
    if logs_json():
        yield LogView(quiet=quiet, verbose=verbose)
        return
    if quiet or verbose or not can_draw(real_stderr()):
        yield View(quiet=quiet, verbose=verbose)
        return
    with BlockView(progress) if progress is not None else StatusView(limits) as view:
        yield view
