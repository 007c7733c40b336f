"""The bars of a timeline: which effects are drawn, from when to when, and in which lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from strands_cli.api import Branch

BarKind = Literal["step", "model", "tool", "person"]

# The kinds of effects without a bar, with those of the others.
_KINDS: dict[str, BarKind] = {
    "step": "step",
    "model": "model",
    "tool": "tool",
    "gate": "person",
    "question": "person",
}
# The more telling status of effects that share a bar comes first.
_TELLING = ("failed", "waiting", "running", "stopped", "done", "reused")


@dataclass(frozen=True, slots=True)
class Bar:
    """When one effect was at work, or several too close to be drawn apart.

    Attributes:
        key: The effect, or the first of them.
        kind: `person` waits for one.
        who: The agent, the tool, or `person`.
        started_at: In seconds since the epoch, as `ended_at`.
        is_open: Whether it has not ended: it is drawn until now, or until the last known time of its run.
        count: How many effects it is of.
    """

    key: str
    kind: BarKind
    status: str
    who: str
    started_at: float
    ended_at: float
    is_open: bool = False
    count: int = 1

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.ended_at - self.started_at


def joined(bars: Sequence[Bar]) -> Bar:
    """Return one bar for several, in the order of their beginnings; one alone stays as it is."""
    first = bars[0]
    if len(bars) == 1:
        return first
    return replace(
        first,
        status=min((bar.status for bar in bars), key=_TELLING.index),
        who=first.who if all(bar.who == first.who for bar in bars) else "",
        kind=first.kind if all(bar.kind == first.kind for bar in bars) else "step",
        ended_at=max(bar.ended_at for bar in bars),
        is_open=any(bar.is_open for bar in bars),
        count=sum(bar.count for bar in bars),
    )


def bars_below(top: Branch, until: float) -> Iterator[Bar]:
    """Yield the bars of the parts of a step, its model turns, tool calls and questions, or its own bar without them.

    Effects of another run have no bar: their times are of that run.
    """
    for branch in top.walk():
        kind = _KINDS.get(branch.kind)
        if kind is None or branch.effect is None or branch.status == "reused":
            continue
        if not _has_parts(branch):
            yield _bar(branch, kind, until)


def _has_parts(branch: Branch) -> bool:
    """Return whether the bars of those below it show the same time; the approval of a call is not the call."""
    if branch.kind == "tool":
        return any(child.kind in ("step", "model", "tool", "group") for child in branch.children)
    return branch.kind == "step" and any(child.kind in _KINDS or child.children for child in branch.children)


def _bar(branch: Branch, kind: BarKind, until: float) -> Bar:
    start = branch.started_at or 0.0
    row = branch.effect.row if branch.effect else None
    ended = row.ended_at if row is not None else None
    # A row that waits has the time at which it began to.
    is_open = branch.status in ("running", "waiting") or ended is None or (row is not None and row.status == "waiting")
    end = until if is_open or ended is None else ended
    return Bar(branch.key, kind, branch.status, branch.who, start, max(start, end), is_open)


def rows_of(bars: Sequence[Bar], most: int) -> list[list[Bar]]:
    """Return bars in rows in which none begins before the one to its left has ended; the last row takes all others.

    Args:
        most: How many rows there are at most.
    """
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda bar: (bar.started_at, bar.ended_at)):
        free = next((row for row in rows if row[-1].ended_at <= bar.started_at), None)
        if free is None and len(rows) < most:
            rows.append(free := [])
        (rows[-1] if free is None else free).append(bar)
    return rows
