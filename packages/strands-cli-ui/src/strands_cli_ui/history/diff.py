"""Two stored runs compared: their inputs, and their effects, aligned by key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.api import EffectSummary, RunStatus, RunSummary, Usage

# The details in the rows of each kind that a person may compare.
_DETAIL: Mapping[str, Sequence[str]] = {
    "model": ("model", "request"),
    "tool": ("decision", "rule", "arguments", "called_with"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs.

    Attributes:
        key: The effect's; of the run itself the name of an input, or empty.
        kind: That of the effect, or `run`.
        what: Of a run `name`, `pattern`, `workflow` (its text), `input`, `status`, `reason` or `response`. Of an effect
            `effect` (only one run has it: the other value is None), `kind`, `status`, `who`, `model`, `request`,
            `answer`, `value`, `calls`, `decision`, `rule`, `arguments`, `called_with`, `result`, `result_json`,
            `question`, `output`, `damage` (the parts of its row that cannot be read), `error` or `tokens`.
        before: A text or a JSON value; None where there is none.
        after: Likewise.
    """

    key: str
    kind: str
    what: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Pair:
    """One effect in both runs, or None in the run that lacks it, and the differences."""

    key: str
    kind: str
    before: EffectSummary | None
    after: EffectSummary | None
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class RunSide:
    """The totals of one of two runs, without the effects that it took over from another.

    Attributes:
        effects: How many there are.
        cost: In US dollars; None where a price or the tokens are unknown.
        seconds: How long it worked; None where it is not known.
    """

    id: str
    workflow: str
    status: RunStatus
    started_at: float
    effects: int
    model_calls: int
    tool_calls: int
    usage: Usage
    cost: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class RunDiff:
    """How two runs differ. Times, durations, costs, attempts and the ids of runs are no difference.

    Attributes:
        before: The first run.
        after: The second run.
        of_run: The differences between the workflows, the inputs and the ends of the runs.
        pairs: All effects, in the order of the first run; each of the second alone comes after the one before it there.
        first: The first effect that differs. Where a step differs, because something below it does, that.
    """

    before: RunSide
    after: RunSide
    of_run: Sequence[Change]
    pairs: Sequence[Pair]
    first: Pair | None

    @property
    def changed(self) -> Sequence[Pair]:
        """The effects that differ."""
        return tuple(pair for pair in self.pairs if pair.changes)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.of_run and self.first is None


def diff_of(before: RunSummary, after: RunSummary) -> RunDiff:
    """Compare two runs, in a time that grows with the number of their effects.

    Raises:
        RunRecordError: An output cannot be read.
    """
    same = _SameButForIds(before.run.id, after.run.id)
    pairs = tuple(_pairs(before.effects, after.effects, same))
    return RunDiff(
        before=_side(before),
        after=_side(after),
        of_run=tuple(_of_run(before, after, same)),
        pairs=pairs,
        first=_first([pair for pair in pairs if pair.changes]),
    )


class _SameButForIds:
    """Compares values of two runs; the id of each run is the same word in both."""

    def __init__(self, before: str, after: str) -> None:
        self._before, self._after = before, after

    def __call__(self, before: Any, after: Any) -> bool:
        if before == after:
            return True
        first, second = (
            json.dumps(value, ensure_ascii=False, sort_keys=True, default=str) for value in (before, after)
        )
        return first.replace(self._before, "RUN") == second.replace(self._after, "RUN")


def _side(summary: RunSummary) -> RunSide:
    run, spent = summary.run, summary.spent
    return RunSide(
        id=run.id,
        workflow=run.workflow,
        status=run.status,
        started_at=run.started_at,
        effects=len(summary.effects),
        model_calls=spent.model_calls,
        tool_calls=spent.tool_calls,
        usage=spent.usage,
        cost=spent.cost,
        seconds=run.worked_s,
    )


def _of_run(before: RunSummary, after: RunSummary, same: _SameButForIds) -> Iterator[Change]:
    facts = {
        "name": (before.run.workflow, after.run.workflow),
        "pattern": (before.run.pattern, after.run.pattern),
        "workflow": (before.workflow_text, after.workflow_text),
    }
    ends = {
        "status": (before.run.status, after.run.status),
        "reason": (before.run.reason, after.run.reason),
        "response": (before.response, after.response),
    }
    yield from (Change("", "run", fact, *values) for fact, values in facts.items() if not same(*values))
    inputs = [summary.inputs if isinstance(summary.inputs, Mapping) else {} for summary in (before, after)]
    for name in dict.fromkeys([*inputs[0], *inputs[1]]):
        values = (inputs[0].get(name), inputs[1].get(name))
        if not same(*values):
            yield Change(name, "run", "input", *values)
    yield from (Change("", "run", fact, *values) for fact, values in ends.items() if not same(*values))


def _pairs(before: Iterable[EffectSummary], after: Iterable[EffectSummary], same: _SameButForIds) -> Iterator[Pair]:
    first = {effect.row.key: effect for effect in before}
    second = {effect.row.key: effect for effect in after}
    for key in _in_order(first, second):
        in_first, in_second = first.get(key), second.get(key)
        kind = (second[key] if in_first is None else in_first).kind
        yield Pair(key, kind, in_first, in_second, tuple(_changes(key, kind, (in_first, in_second), same)))


def _in_order(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the first run; after each those that follow it in the second one, and are only there."""
    follows: dict[str, list[str]] = {}
    last = ""
    for key in after:
        if key in before:
            last = key
        else:
            follows.setdefault(last, []).append(key)
    yield from follows.get("", ())
    for key in before:
        yield key
        yield from follows.get(key, ())


def _changes(
    key: str, kind: str, both: tuple[EffectSummary | None, EffectSummary | None], same: _SameButForIds
) -> Iterator[Change]:
    before, after = both
    if before is None or after is None:
        yield Change(key, kind, "effect", *(effect and _first_words(effect) for effect in both))
        return
    # Outputs that are equal as stored need not be decoded further: most of two long runs.
    is_equal = before.row.status == after.row.status and before.whole == after.whole
    first, second = (dict(_facts(effect, with_output=not is_equal)) for effect in both if effect)
    for fact in dict.fromkeys([*first, *second]):
        values = (first.get(fact), second.get(fact))
        # An unfinished effect has no answer: its status says so.
        is_told = before.row.status == after.row.status or fact in ("status", "error") or None not in values
        if is_told and not same(*values):
            yield Change(key, kind, fact, *values)


def _first_words(effect: EffectSummary) -> Any:
    """Return the most telling text of an effect that only one run has: its answer, or its agent or tool."""
    return effect.text or effect.error or effect.who or effect.row.status


def _facts(effect: EffectSummary, *, with_output: bool) -> Iterator[tuple[str, Any]]:
    """Yield the facts by which effects are compared, causes first."""
    row = effect.row
    yield from (("kind", effect.kind), ("status", row.status))
    if row.kind == "model":
        yield "who", row.detail.get("agent")
    yield from ((name, row.detail.get(name)) for name in _DETAIL.get(row.kind, ()))
    if row.kind == "human":
        yield "question", "\n\n".join(filter(None, (row.detail.get("prompt"), row.detail.get("context"))))
    if with_output:
        yield from _answers(effect)
    yield "damage", effect.damage
    yield "error", effect.tool_error.reason if row.kind == "tool" and effect.tool_error else effect.error
    yield "tokens", _tokens(row.usage)


def _answers(effect: EffectSummary) -> Iterator[tuple[str, Any]]:
    kind = effect.row.kind
    if kind in ("step", "model", "human"):
        yield "answer", effect.text
    if kind == "step":
        yield from (("value", effect.value), ("who", effect.agent))
    elif kind == "model":
        yield "calls", [{"tool": tool, "arguments": arguments} for tool, arguments in effect.calls]
    elif kind == "tool":
        yield from (("result", effect.text), ("result_json", effect.value))
    elif kind != "human":
        yield "output", effect.whole


def _tokens(usage: Usage) -> dict[str, int] | None:
    if usage.is_unknown:
        return None
    return usage.counts()


def _first(changed: Sequence[Pair]) -> Pair | None:
    """Return the first pair; where others below it differ, the first of the deepest, which is the cause."""
    first = changed[0] if changed else None
    for pair in changed[1:]:
        if first is not None and pair.key.startswith(f"{first.key}/"):
            first = pair
    return first
