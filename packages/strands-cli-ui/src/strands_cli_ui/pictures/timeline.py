"""Who worked when in a run: a lane for each step or agent, with bars on one axis."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strands_cli_ui.pictures.time_scale import Scale, scale_of
from strands_cli_ui.pictures.timeline_bars import Bar, bars_below, joined, rows_of

if TYPE_CHECKING:
    from strands_cli.api import Branch, RunSummary

# With more steps than this each agent has a lane instead, and of those no more are drawn.
MOST_LANES = 24
# How many bars are drawn about; closer effects are one bar.
MOST_BARS = 200
_MOST_ROWS = 4
_LEAST_PLACES = 8


@dataclass(frozen=True, slots=True)
class Lane:
    """One line of a timeline: a step, or all that one agent did.

    Attributes:
        name: The key of the step, or the agent.
        key: The key of the step; None for the lane of an agent.
        who: The agent of the step.
        rows: The bars; those of one row do not overlap, but for the last where there are too many.
    """

    name: str
    key: str | None
    who: str
    rows: tuple[tuple[Bar, ...], ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run as bars on an axis.

    Attributes:
        started_at: When the axis begins, in seconds since the epoch; it ends at `ended_at`.
        effects: How many effects the bars are of.
        left_out: How many lanes are not drawn, since there are too many.
        reused: How many effects another run has done; they have no bar.
        is_open: Whether an effect has not ended.
    """

    lanes: tuple[Lane, ...]
    scale: Scale
    started_at: float
    ended_at: float
    effects: int
    left_out: int = 0
    reused: int = 0
    is_open: bool = False


def timeline_of(summary: RunSummary, tree: Sequence[Branch], now: float | None = None) -> Timeline:
    """Return who worked when.

    Args:
        tree: The effects of the run as trees.
        now: The end of the bars of unfinished effects, if the run runs or waits; the time of the machine. In other runs
            they end with the last known time of the run.
    """
    until = _end_of(summary, now)
    by_top = [(top, list(bars_below(top, until))) for top in tree]
    bars = [bar for _, own_bars in by_top for bar in own_bars]
    start = min((bar.started_at for bar in bars), default=summary.run.started_at)
    start = min(start, summary.run.started_at)
    end = max([start, *(bar.ended_at for bar in bars)])
    work = [(bar.started_at, bar.ended_at) for bar in bars if bar.kind != "person"]
    scale = scale_of(start, end, work, [(bar.started_at, bar.ended_at) for bar in bars if bar.kind == "person"])
    drawn_steps = [(top, own_bars) for top, own_bars in by_top if own_bars]
    lanes = _by_step(drawn_steps) if len(drawn_steps) <= MOST_LANES else _by_agent(bars)
    places = max(_LEAST_PLACES, MOST_BARS // max(1, min(len(lanes), MOST_LANES)))
    return Timeline(
        lanes=tuple(_lane(*lane, scale, places) for lane in lanes[:MOST_LANES]),
        scale=scale,
        started_at=start,
        ended_at=end,
        effects=len(bars),
        left_out=max(0, len(lanes) - MOST_LANES),
        reused=sum(effect.status == "reused" for effect in summary.effects),
        is_open=any(bar.is_open for bar in bars),
    )


def _end_of(summary: RunSummary, now: float | None) -> float:
    """Return until when an effect without an end is drawn."""
    if summary.run.status in ("running", "waiting"):
        return time.time() if now is None else now
    rows = (effect.row for effect in summary.effects if effect.status != "reused")
    times = (row.ended_at if row.ended_at is not None else row.started_at for row in rows)
    return max(times, default=summary.run.started_at)


_Named = tuple[str, str | None, str, Sequence[Bar]]


def _by_step(drawn_steps: Iterable[tuple[Branch, Sequence[Bar]]]) -> list[_Named]:
    lanes = [(top.key, top.key, top.who, bars) for top, bars in drawn_steps]
    return sorted(lanes, key=lambda lane: min(bar.started_at for bar in lane[3]))


def _by_agent(bars: Iterable[Bar]) -> list[_Named]:
    bars_of: dict[str, list[Bar]] = {}
    for bar in bars:
        bars_of.setdefault(bar.who or bar.key.partition("/")[0], []).append(bar)
    return [(name, None, "", own) for name, own in bars_of.items()]


def _lane(name: str, key: str | None, who: str, bars: Sequence[Bar], scale: Scale, places: int) -> Lane:
    rows = rows_of(bars, _MOST_ROWS)
    each = max(_LEAST_PLACES, places // max(1, len(rows)))
    return Lane(name, key, who, tuple(tuple(_grouped(row, scale, each)) for row in rows))


def _grouped(row: Sequence[Bar], scale: Scale, places: int) -> list[Bar]:
    """Return the bars of a row; where there are more than places, those that begin in the same place are one bar."""
    if len(row) <= places:
        return list(row)
    groups: dict[tuple[int, bool], list[Bar]] = {}
    for bar in row:
        group = (int(scale.place_of(bar.started_at) * places), bar.kind == "person")
        groups.setdefault(group, []).append(bar)
    return [joined(bars) for bars in groups.values()]
