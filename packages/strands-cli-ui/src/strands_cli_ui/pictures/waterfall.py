"""Who worked when in a run: a row for each effect, with its bar on one axis."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from strands_cli_ui.pictures.time_scale import Scale, scale_of

if TYPE_CHECKING:
    from strands_cli.api import Branch, RunSummary

# What needs a look, besides denied calls.
PROBLEMS = ("failed", "waiting", "running", "stopped")
_PERSON = ("gate", "question")
_WORK = ("step", "model", "tool", "row")


@dataclass(frozen=True, slots=True)
class Bar:
    """When an effect was at work.

    Attributes:
        place: Where it begins, as a share of the width from 0 to 1; so is `width`.
        seconds: How long it took, or has taken so far.
        is_open: Whether it has not ended: it is drawn until now, or until the last known time of its run.
    """

    place: float
    width: float
    seconds: float
    is_open: bool


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A run, or a part of it, as rows with bars on an axis.

    Attributes:
        rows: Each effect with how deep it is below others, parents first.
        scale: The axis of these rows.
        started_at: When the run began, in seconds since the epoch.
        until: The end of effects without one, likewise.
    """

    rows: Sequence[tuple[int, Branch]]
    scale: Scale
    started_at: float
    until: float

    def bar(self, branch: Branch) -> Bar | None:
        """Return the bar of an effect; None for one without time, or of another run, whose times are of that run."""
        if branch.kind in ("notes", "artifacts") or branch.status == "reused":
            return None
        start, end, is_open = _span(branch, self.until)
        place = self.scale.place_of(start)
        return Bar(place, self.scale.place_of(end) - place, end - start, is_open)

    def problems(self) -> list[tuple[int, Branch]]:
        """Return the rows that need a look."""
        return [row for row in self.rows if row[1].status in PROBLEMS or row[1].decision == "deny"]

    def part(self, rows: Sequence[tuple[int, Branch]]) -> Waterfall:
        """Return some of the rows, on an axis of their own where there are others."""
        is_all = len(rows) == len(self.rows)
        return (
            self if is_all else replace(self, rows=rows, scale=_scale(rows, self.started_at, self.until, is_all=False))
        )


def waterfall_of(summary: RunSummary, tree: Sequence[Branch], now: float | None = None) -> Waterfall:
    """Return who worked when.

    Args:
        tree: The effects of the run as trees.
        now: The end of the bars of unfinished effects, if the run runs or waits; the time of the machine. In other runs
            they end with the last known time of the run.
    """
    rows, started = tuple(_rows(tree)), summary.run.started_at
    until = _end_of(summary, _own(rows), now)
    return Waterfall(rows, _scale(rows, started, until, is_all=True), started, until)


def _own(rows: Iterable[tuple[int, Branch]]) -> list[Branch]:
    return [branch for _, branch in rows if branch.effect is not None and branch.status != "reused"]


def _scale(rows: Iterable[tuple[int, Branch]], started: float, until: float, *, is_all: bool) -> Scale:
    """Return the axis of rows; that of all of them begins with the run."""
    timed = [(branch, *_span(branch, until)[:2]) for branch in _own(rows) if branch.kind in (*_PERSON, *_WORK)]
    start = min([begin for _, begin, _ in timed] + [started] * (is_all or not timed))
    end = max([start, *(end for _, _, end in timed)])
    work = [(begin, end) for branch, begin, end in timed if branch.kind in _WORK and not _has_parts(branch)]
    return scale_of(start, end, work, [(begin, end) for branch, begin, end in timed if branch.kind in _PERSON])


def _rows(tree: Iterable[Branch]) -> Iterator[tuple[int, Branch]]:
    waiting = [(0, branch) for branch in reversed(list(tree))]
    while waiting:
        depth, branch = waiting.pop()
        yield depth, branch
        waiting += [(depth + 1, child) for child in reversed(branch.children)]


def _end_of(summary: RunSummary, own: Iterable[Branch], now: float | None) -> float:
    """Return until when an effect without an end is drawn."""
    if summary.run.status in ("running", "waiting"):
        return time.time() if now is None else now
    rows = [branch.effect.row for branch in own if branch.effect is not None]
    times = (row.ended_at if row.ended_at is not None else row.started_at for row in rows)
    return max(times, default=summary.run.started_at)


def _has_parts(branch: Branch) -> bool:
    """Return whether those below it show the same time; the approval of a call is not the call."""
    if branch.kind == "tool":
        return any(child.kind in ("step", "model", "tool", "group") for child in branch.children)
    return branch.kind == "step" and bool(branch.children)


def _span(branch: Branch, until: float) -> tuple[float, float, bool]:
    """Return when an effect began and ended, and whether it has not ended."""
    start = branch.started_at or 0.0
    row = branch.effect.row if branch.effect is not None else None
    if row is None:
        spans = [_span(child, until) for child in branch.children]
        return start, max(end for _, end, _ in spans), any(is_open for _, _, is_open in spans)
    # A row that waits has the time at which it began to.
    is_open = branch.status in ("running", "waiting") or row.ended_at is None or row.status == "waiting"
    return start, max(start, until if is_open or row.ended_at is None else row.ended_at), is_open
