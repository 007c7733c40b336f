"""Numbers about many stored runs: how many succeed, how long they take, their costs, and the tool that fails."""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from strands_cli.api import EffectSummary, OpenedRun, RunRecordError, Runs, StoredRun, Usage
from strands_cli_ui.history.search import damaged_rows

GroupKey = Literal["workflow", "model", "tool", "agent", "day"]
UNKNOWN = "(unknown)"


@dataclass(frozen=True, slots=True)
class Stats:
    """The numbers of one group. Effects that a rerun took over count in the first run alone.

    Attributes:
        name: The workflow, model, tool, agent or day (UTC); empty for all runs.
        runs: How many runs it is in.
        succeeded: Runs that completed; of a model or a tool the calls, of an agent the steps that did not fail.
        failed: Runs, calls or steps that failed. Those that wait, work, were cancelled or denied are neither.
        p50_s: The median of the seconds that those runs, calls or steps took; None where there is none.
        p95_s: The seconds that 95 of 100 did not exceed.
        prompt_tokens: The tokens of all requests, cached or not.
        known_cost: In US dollars, of the calls with a known cost.
        unpriced: How many model calls have an unknown cost.
        worst_tool: The tool that failed most often, how often, and of how many calls; None where none failed.
    """

    name: str
    runs: int
    succeeded: int
    failed: int
    p50_s: float | None
    p95_s: float | None
    model_calls: int
    tool_calls: int
    usage: Usage
    prompt_tokens: int
    known_cost: float
    unpriced: int
    worst_tool: tuple[str, int, int] | None

    @property
    def success(self) -> float | None:
        """The part that succeeded, from 0 to 1; None where nothing has ended."""
        ended = self.succeeded + self.failed
        return self.succeeded / ended if ended else None

    @property
    def cache_hits(self) -> float | None:
        """The part of the tokens of requests that was read from a cache, from 0 to 1; None without requests."""
        return min(1.0, self.usage.cache_read_tokens / self.prompt_tokens) if self.prompt_tokens else None

    @property
    def cost(self) -> float | None:
        """The cost in US dollars; None where that of one call is not known."""
        return None if self.unpriced else self.known_cost


@dataclass(frozen=True, slots=True)
class RunStats:
    """The numbers of all runs, of each group, and the problems of journals that cannot be read."""

    total: Stats
    groups: Sequence[Stats]
    problems: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Fact:
    """The numbers of one row of a journal."""

    kind: str
    model: str
    tool: str
    agent: str
    outcome: bool | None  # whether it succeeded
    seconds: float | None
    usage: Usage
    cost: float | None
    paid_calls: int
    is_damaged: bool


@dataclass(slots=True)
class _Group:
    last_run: str = ""
    runs: int = 0
    succeeded: int = 0
    failed: int = 0
    seconds: array[float] = field(default_factory=lambda: array("d"))
    model_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    prompt_tokens: int = 0
    known_cost: float = 0.0
    unpriced: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    failing: Counter[str] = field(default_factory=Counter)

    def see(self, run: str) -> None:
        self.runs += run != self.last_run
        self.last_run = run

    def end(self, outcome: bool | None, seconds: float | None) -> None:
        if outcome is None:
            return
        self.succeeded += outcome
        self.failed += not outcome
        if seconds is not None:
            self.seconds.append(seconds)

    def spend(self, fact: _Fact) -> None:
        if fact.kind == "tool":
            self.tools[fact.tool] += 1
            self.failing[fact.tool] += fact.outcome is False
        elif fact.kind == "model" and fact.paid_calls:
            self.model_calls += fact.paid_calls
            self.usage += fact.usage
            self.prompt_tokens += fact.usage.of_prompts(fact.model)
            self.unpriced += fact.cost is None
            self.known_cost += fact.cost or 0.0

    def stats(self, name: str) -> Stats:
        worst = max(self.failing.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        ordered = sorted(self.seconds)
        return Stats(
            name=name,
            runs=self.runs,
            succeeded=self.succeeded,
            failed=self.failed,
            p50_s=_percentile(ordered, 50),
            p95_s=_percentile(ordered, 95),
            model_calls=self.model_calls,
            tool_calls=self.tools.total(),
            usage=self.usage,
            prompt_tokens=self.prompt_tokens,
            known_cost=self.known_cost,
            unpriced=self.unpriced,
            worst_tool=(*worst, self.tools[worst[0]]) if worst[1] else None,
        )


def stats_of(runs: Runs, chosen: Sequence[StoredRun], by: GroupKey | None = None) -> RunStats:
    """Return the numbers of these runs; with `by` also those of each workflow, model, ..., the most frequent first."""
    total, groups, problems = _Group(), dict[str, _Group](), list[str]()
    for run, opened in zip(chosen, runs.open_each(run.id for run in chosen), strict=True):
        try:
            if isinstance(opened, RunRecordError):
                raise opened
            with opened:
                facts = list(_facts(opened))
        except RunRecordError as error:
            problems.append(error.message)
            continue
        if damaged := sum(fact.is_damaged for fact in facts):
            problems.append(damaged_rows(run, damaged))
        _count_run(total, run, facts)
        if by in ("workflow", "day"):
            name = run.workflow if by == "workflow" else time.strftime("%Y-%m-%d", time.gmtime(run.started_at))
            _count_run(groups.setdefault(name, _Group()), run, facts)
        elif by is not None:
            _count_parts(groups, run, facts, by)
    numbers = [group.stats(name) for name, group in groups.items()]
    ordered = sorted(numbers, key=lambda group: group.name if by == "day" else (-group.runs, group.name))
    return RunStats(total.stats(""), ordered, problems)


def _count_run(group: _Group, run: StoredRun, facts: Iterable[_Fact]) -> None:
    group.see(run.id)
    group.end({"completed": True, "failed": False}.get(run.status), run.worked_s)
    for fact in facts:
        group.spend(fact)


def _count_parts(groups: dict[str, _Group], run: StoredRun, facts: Sequence[_Fact], by: GroupKey) -> None:
    """Count the effects of a run for each model, tool or agent in it."""
    unit = "step" if by == "agent" else by
    # A step that calls a tool has its name in the place of an agent's.
    agents = {fact.agent for fact in facts if fact.kind == "model"}
    for fact in facts:
        name = {"model": fact.model, "tool": fact.tool, "agent": fact.agent if fact.agent in agents else ""}[by]
        if not name or (by != "agent" and fact.kind != unit):
            continue
        group = groups.setdefault(name, _Group())
        group.see(run.id)
        group.spend(fact)
        if fact.kind == unit:
            group.end(fact.outcome, fact.seconds)


def _facts(run: OpenedRun) -> Iterator[_Fact]:
    """Yield the numbers of the rows of a run, without those that it took over from another one."""
    agents: dict[str, str] = {}  # by the key of their step
    for effect in run.effects():
        row = effect.row
        if effect.status == "reused" or row.kind not in ("step", "model", "tool"):
            continue
        step = row.key.rpartition("/")[0]
        who = effect.who
        if row.kind == "model":
            agents.setdefault(step, who)
        yield _Fact(
            kind=row.kind,
            model=str(row.detail.get("model") or UNKNOWN) if row.kind == "model" else "",
            tool=who if row.kind == "tool" else "",
            agent=agents.get(step, "") if row.kind == "tool" else who,
            outcome=_outcome(effect),
            seconds=None if row.ended_at is None else max(0.0, row.ended_at - row.started_at),
            usage=row.usage,
            cost=row.cost,
            paid_calls=row.paid_calls,
            is_damaged=effect.damage is not None,
        )


def _outcome(effect: EffectSummary) -> bool | None:
    row = effect.row
    if row.status not in ("done", "failed") or row.detail.get("decision") == "deny":
        return None
    return row.status == "done" and effect.tool_error is None


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return the smallest value that so many percent do not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else None
