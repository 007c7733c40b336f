"""The effects of a run as a tree: steps, with their model turns, tool calls and questions below them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from strands_cli.engine.stored_runs.effect_summary import EffectKind, EffectStatus, EffectSummary
from strands_cli.engine.stored_runs.summary import RunSummary
from strands_cli.events import RunStatus, Usage


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One effect of a run and those below it, in the order of the model's requests.

    Attributes:
        key: Its path in the workflow.
        kind: `gate` is a step that waits for a person, `question` the approval of a call or the question of a tool,
            `group` a place that has effects below it and no row of its own.
        who: The agent of a step or a model turn, the name of a tool, or `person`; empty for others.
        effect: Its row with its answer; None for a group.
        usage: The tokens of it and of everything below it, without effects that are reused from another run.
        cost: In US dollars, likewise; None where one of them is not known.
    """

    key: str
    kind: EffectKind
    status: EffectStatus
    who: str
    effect: EffectSummary | None
    usage: Usage
    cost: float | None
    children: tuple[Branch, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def started_at(self) -> float | None:
        """When it first started, in seconds since the epoch."""
        return self.effect.row.started_at if self.effect else min(one.started_at or 0.0 for one in self.children)

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it is not done."""
        if self.effect is None or self.effect.row.ended_at is None:
            return None
        return max(0.0, self.effect.row.ended_at - self.effect.row.started_at)

    @property
    def decision(self) -> str | None:
        """The decision on a tool call: `allow`, `deny` or another word of the policy."""
        return self.effect.row.detail.get("decision") if self.effect else None

    @property
    def rule(self) -> str | None:
        """The rule that decided."""
        return self.effect.row.detail.get("rule") if self.effect else None

    def walk(self) -> Iterator[Branch]:
        """Yield it, and everything below it, parents first."""
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting += reversed(branch.children)


@dataclass(slots=True)
class _Growing:
    key: str
    effect: EffectSummary | None = None
    children: list[_Growing] = field(default_factory=list)


def tree_of(summary: RunSummary) -> tuple[Branch, ...]:
    """Return the effects of a run as trees, each below the effect whose key is the longest beginning of its own."""
    tops: list[_Growing] = []
    known: dict[str, _Growing] = {}
    for effect in summary.effects:
        growing = _place(effect.row.key, known, tops)
        growing.effect = effect
    return tuple(_branch(one, summary.run.status) for one in tops)


def _place(key: str, known: dict[str, _Growing], tops: list[_Growing]) -> _Growing:
    """Return the place of a key, made with those above it that do not exist yet."""
    missing = []
    while key and key not in known:
        missing.append(key)
        key = key.rpartition("/")[0]
    place = known.get(key)
    for one in reversed(missing):
        known[one] = _Growing(one)
        (place.children if place else tops).append(known[one])
        place = known[one]
    return cast(_Growing, place)


def _branch(top: _Growing, status: RunStatus) -> Branch:
    """Return a branch with those below it, deepest first, so that no depth of keys is a depth of calls."""
    order = [top]
    for one in order:
        order += one.children
    made: dict[int, Branch] = {}
    for one in reversed(order):
        made[id(one)] = _with_children(one, tuple(made[id(child)] for child in one.children), status)
    return made[id(top)]


def _with_children(one: _Growing, children: tuple[Branch, ...], status: RunStatus) -> Branch:
    reused = one.effect is not None and one.effect.status == "reused"
    row = one.effect.row if one.effect and not reused else None
    is_paid = row is not None and row.kind == "model" and row.paid_calls > 0
    costs = [child.cost for child in children] + [row.cost if row and is_paid else 0.0]
    return Branch(
        key=one.key,
        kind=one.effect.kind if one.effect else "group",
        status=one.effect.status_in(status) if one.effect else _status_of_group(children),
        who=one.effect.who if one.effect else "",
        effect=one.effect,
        usage=sum((child.usage for child in children), row.usage if row else Usage()),
        cost=None if None in costs else sum(cast("list[float]", costs)),
        children=children,
    )


def _status_of_group(children: tuple[Branch, ...]) -> EffectStatus:
    found = [child.status for child in children]
    return next((one for one in ("running", "waiting", "failed", "stopped") if one in found), "done")
