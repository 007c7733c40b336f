"""What a run does at the moment and has spent so far, as a few lines that fit a terminal."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from strands_cli.cli.terminal.event_lines import activity_of, step_of
from strands_cli.cli.terminal.live_block import dim
from strands_cli.cli.terminal.streamed_text import StreamedText
from strands_cli.cli.text_layout import fitted, one_line
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
from strands_cli.secrets.process_streams import redact_output
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.workflow.sections import Budgets

MOST_STEPS = 4
MOST_TEXT = 3
_BAR = 10
# The place of the activity before the first step.
_LOADING = ""
_MODEL_SAYS = "  > "


@dataclass(slots=True)
class Spent:
    """What a run has spent, with its earlier processes; `cost_usd` is None if unknown."""

    usage: Usage = field(default_factory=Usage)
    model_calls: int = 0
    tool_calls: int = 0
    cost_usd: float | None = 0.0
    earlier_s: float = 0.0

    def add(self, event: Event) -> None:
        """Count what an event says was spent; what comes from the journal was counted when the run started."""
        if isinstance(event, RunStarted):
            self.usage, self.model_calls, self.tool_calls = event.usage, event.model_calls, event.tool_calls
            self.cost_usd, self.earlier_s = event.cost_usd, event.seconds
        elif isinstance(event, ModelCallFinished) and not event.replayed:
            self.usage += event.usage
            self.model_calls += 1
            known = self.cost_usd is not None and event.cost_usd is not None
            self.cost_usd = (self.cost_usd or 0.0) + (event.cost_usd or 0.0) if known else None
        elif isinstance(event, ToolCallFinished) and not event.replayed:
            self.tool_calls += 1

    def shares(self, limits: Budgets | None, seconds: float) -> list[tuple[float, str]]:
        """Return the share of each limit that is used, the largest first, with the name of what it limits."""
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
    """What one step does, since when, and how many characters of its model's text have come.

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
        self._spent = Spent()
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
        shown = list(self._activities.items())
        more = len(shown) - most if len(shown) > most else 0
        lines = [self._step(key, activity, now) for key, activity in shown[: most if not more else max(1, most - 1)]]
        hidden = len(shown) - len(lines)
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
