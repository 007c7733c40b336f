"""The axis of a timeline: from times to places, with long stretches in which nothing works made short."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

# How long a stretch without work is drawn at most, as a share of the time without such stretches.
_LONGEST_STRETCH = 0.15
# A shorter stretch is drawn as long as it was, in seconds.
_SHORTEST_GAP_S = 1.0
# How close two marks of the axis are at least, and how many there are about, in shares of the width.
_MARKS_APART = 0.18
_MARKS = 4


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch in which nothing worked, drawn shorter than it was.

    Attributes:
        place: Where it begins, as a share of the width; so is `width`.
        started_at: When it began, in seconds since the epoch.
        seconds: How long it was.
        is_waiting: Whether a person was asked meanwhile.
    """

    place: float
    width: float
    started_at: float
    seconds: float
    is_waiting: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of the axis: its place as a share of the width, and the seconds since the run began."""

    place: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis: times in seconds since the epoch, and the length drawn until each."""

    times: tuple[float, ...]
    lengths: tuple[float, ...]
    gaps: tuple[Gap, ...] = ()

    def place_of(self, time: float) -> float:
        """Return where a time is, as a share of the width from 0 to 1."""
        total = self.lengths[-1]
        if total <= 0:
            return 0.0
        right = min(max(1, bisect_right(self.times, time)), len(self.times) - 1)
        before, after = self.times[right - 1], self.times[right]
        part = (time - before) / (after - before) if after > before else 1.0
        length = self.lengths[right - 1] + min(1.0, max(0.0, part)) * (self.lengths[right] - self.lengths[right - 1])
        return length / total

    def marks(self) -> tuple[Mark, ...]:
        """Return the marks of the axis: round numbers of seconds, and where it goes on after a gap."""
        marks: list[Mark] = []
        for start, end in self._stretches():
            step = _round_step(self.lengths[-1] / _MARKS)
            first = math.floor(start / step + 1) * step
            for seconds in [start, *(first + number * step for number in range(math.floor((end - first) / step) + 1))]:
                position = self.place_of(self.times[0] + seconds)
                if not marks or position - marks[-1].place >= _MARKS_APART:
                    marks.append(Mark(position, seconds))
        return tuple(marks)

    def _stretches(self) -> Iterator[tuple[float, float]]:
        """Yield from when to when nothing is made short, in seconds since the run began."""
        since = self.times[0]
        for gap in self.gaps:
            yield since - self.times[0], gap.started_at - self.times[0]
            since = gap.started_at + gap.seconds
        yield since - self.times[0], self.times[-1] - self.times[0]


def scale_of(
    start: float, end: float, work: Iterable[tuple[float, float]], question_times: Sequence[tuple[float, float]]
) -> Scale:
    """Return the axis of a run.

    Args:
        start: When the axis begins, in seconds since the epoch; it ends at `end`.
        work: From when to when something worked.
        question_times: From when to when a person was asked.
    """
    busy = _joined(work)
    edges = [start, *(time for pair in busy for time in pair), end]
    # Every second stretch is one without work.
    idle = [(before, after) for before, after in list(pairwise(edges))[::2] if after - before > _SHORTEST_GAP_S]
    longest = _LONGEST_STRETCH * (end - start - sum(after - before for before, after in idle))
    # Without any work there is nothing that a long stretch could hide.
    idle = [stretch for stretch in idle if busy and stretch[1] - stretch[0] > longest]
    times, lengths = [start], [0.0]
    for time in sorted({*(time for pair in idle for time in pair), end} - {start}):
        is_short = any(before < time <= after for before, after in idle)
        lengths.append(lengths[-1] + (longest if is_short else time - times[-1]))
        times.append(time)
    scale = Scale(tuple(times), tuple(lengths))
    width = longest / lengths[-1] if lengths[-1] > 0 else 0.0
    gaps = (
        Gap(
            scale.place_of(before),
            width,
            before,
            after - before,
            any(a < after and b > before for a, b in question_times),
        )
        for before, after in idle
    )
    return replace(scale, gaps=tuple(gaps))


def _joined(stretches: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return stretches of time in their order, those that overlap as one."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _round_step(seconds: float) -> float:
    """Return a round number of seconds, not smaller."""
    steps = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
    days = -(-seconds // 86_400) * 86_400.0
    return next((float(step) for step in (*steps, 7200, 21_600, 43_200) if step >= seconds), days)
