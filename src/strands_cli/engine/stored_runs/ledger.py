"""What the runs of a store spend together, and whether a limit over time of policy allows one more call of a model."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import time
from collections.abc import AsyncGenerator, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from strands_cli.engine.effects.spending import Expense, RunExpenses, beginning_of, day_of
from strands_cli.engine.stored_runs.many_journals import journals_of, runs_since
from strands_cli.errors import BudgetExceeded, RunRecordError
from strands_cli.policy.standing_budget import Payer

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Clock
    from strands_cli.engine.store_port import RunStore, StoredRun
    from strands_cli.policy.standing_budget import StandingBudget

# How long what other processes spent is believed, at least, and as a multiple of the time that it took to read it.
LEAST_AGE_S, AGE_OF_READING = 1.0, 50


class Ledger:
    """What the runs of a store spend: those of this process as they do, and the others as they were a moment ago.

    A run whose journal cannot be read does not count.
    """

    def __init__(self, store: RunStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        # Runs of this process, those that have ended since the others were read, and the others.
        self._own: dict[str, tuple[Payer, RunExpenses]] = {}
        self._ended: dict[str, tuple[Payer, RunExpenses]] = {}
        self._others: dict[str, tuple[StoredRun, RunExpenses]] = {}
        self._total: dict[tuple[datetime.date, Payer], Expense] = {}
        self._since, self._due = datetime.date.max, 0.0
        self._lock, self._freed = asyncio.Lock(), asyncio.Event()
        self._open: list[tuple[Payer, Expense]] = []

    def begin(self, run_id: str, payer: Payer, expenses: RunExpenses) -> None:
        """Take a run that this process works on from now on."""
        self._ended.pop(run_id, None)
        self._own[run_id] = payer, expenses
        if self._others.pop(run_id, None) is not None:
            self._sum()

    def end(self, run_id: str) -> None:
        """Let the store tell what a run spends from now on."""
        self._ended[run_id] = self._own.pop(run_id)

    @contextlib.asynccontextmanager
    async def reserved(
        self, budgets: Sequence[StandingBudget], payer: Payer, most: float
    ) -> AsyncGenerator[None, None]:
        """Have one model call counted while the context is open; wait where calls beside it could be the last.

        Args:
            budgets: The limits that count it.
            most: The most that it may cost; 0 where that is not known.

        Raises:
            BudgetExceeded: A limit is reached, or could be passed.
            RunRecordError: The store cannot be read.
        """
        while True:
            today = day_of(self._clock.now())
            await self._refresh(min(budget.begins(today) for budget in budgets))
            states = [self.state_of(budget, payer, today) for budget in budgets]
            for state in states:
                state.require(most)
            open_states = [state.with_open(self._open) for state in states]
            if all(state.allows(most) for state in open_states):
                break
            self._freed.clear()
            await self._freed.wait()
        call = payer, Expense(calls=1, cost_usd=most)
        self._open.append(call)
        try:
            yield
        finally:
            self._open.remove(call)
            self._freed.set()

    def state_of(self, budget: StandingBudget, payer: Payer, today: datetime.date) -> BudgetState:
        """Return what was spent of a budget for the names of a payer."""
        spent, group, first = Expense(), budget.group(payer), budget.begins(today)
        own = (
            ((day, paying._replace(model=model)), expense)
            for paying, expenses in (*self._own.values(), *self._ended.values())
            for (day, model), expense in expenses.by_day.items()
        )
        for (day, paying), expense in (*self._total.items(), *own):
            if day >= first and budget.counts(paying) and budget.group(paying) == group:
                spent.add(expense)
        return BudgetState(budget, group, spent, budget.ends(today))

    def groups(self, budget: StandingBudget) -> list[Payer]:
        """Return a payer for each group of names that has spent something of a budget."""
        payers = (payer for _, payer in self._total)
        return list({budget.group(payer): payer for payer in payers if budget.counts(payer)}.values())

    async def _refresh(self, since: datetime.date) -> None:
        """Read what other processes spent, where that was long ago."""
        async with self._lock:
            if since >= self._since and self._clock.monotonic() < self._due:
                return
            ended, began = list(self._ended), time.perf_counter()
            others = await asyncio.to_thread(self._read, since)
            for run_id in ended:
                self._ended.pop(run_id, None)
            self._take(others, since)
            age = max(LEAST_AGE_S, AGE_OF_READING * (time.perf_counter() - began))
            self._due = self._clock.monotonic() + age

    def read(self, since: datetime.date) -> None:
        """Read what the runs of the store have spent since a day, and wait for it."""
        self._take(self._read(since), since)

    def _take(self, others: dict[str, tuple[StoredRun, RunExpenses]], since: datetime.date) -> None:
        self._others = {run_id: read for run_id, read in others.items() if run_id not in self._own}
        self._since = since
        self._sum()

    def _sum(self) -> None:
        self._total = {}
        for run, expenses in self._others.values():
            for (day, model), expense in expenses.by_day.items():
                self._total.setdefault((day, Payer(run.workflow, model, run.user)), Expense()).add(expense)

    def _read(self, since: datetime.date) -> dict[str, tuple[StoredRun, RunExpenses]]:
        own = set(self._own)
        runs = [run for run in runs_since(self._store, beginning_of(since)) if run.id not in own]
        read = {run.id: self._others[run.id] for run in runs if _is_same(run, self._others.get(run.id))}
        return {**read, **{run.id: (run, expenses) for run, expenses in expenses_of(self._store, runs, read)}}


def _is_same(run: StoredRun, read: tuple[StoredRun, RunExpenses] | None) -> bool:
    return read is not None and run == read[0] and run.status != "running"


def expenses_of(
    store: RunStore, runs: Iterable[StoredRun], known_ids: Container[str] = ()
) -> Iterator[tuple[StoredRun, RunExpenses]]:
    """Yield what runs have spent: from their list where it tells, and otherwise from their journals, if readable."""
    unread = []
    for run in (run for run in runs if run.id not in known_ids):
        with contextlib.suppress(TypeError, ValueError):
            if run.spent is not None and run.status != "running":
                yield run, RunExpenses.of_stored(run.spent)
                continue
        unread.append(run)
    for run, journal in zip(unread, journals_of(store, [run.id for run in unread]), strict=True):
        if not isinstance(journal, RunRecordError):
            with contextlib.closing(journal), contextlib.suppress(RunRecordError):
                yield run, RunExpenses(journal.tolerant().rows("model"))


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A limit over time, what was spent of it for a group of names, and the first day of the next period."""

    budget: StandingBudget
    group: tuple[str, ...]
    spent: Expense
    free_on: datetime.date

    def with_open(self, calls: Iterable[tuple[Payer, Expense]]) -> BudgetState:
        """Return it with calls that are under way."""
        spent = replace(self.spent)
        for payer, expense in calls:
            if self.budget.counts(payer) and self.budget.group(payer) == self.group:
                spent.add(expense)
        return replace(self, spent=spent)

    def allows(self, most: float = 0.0) -> bool:
        """Return whether one more call may begin, which may cost `most`."""
        spent, limit = self.spent.of(self.budget.name), self.budget.limit
        if self.budget.name != "max_cost_usd":
            return spent < limit
        return spent < limit and spent + most <= limit and not self.spent.unpriced

    @property
    def cells(self) -> tuple[str, ...]:
        """The limit, whose it is, what is spent, until when, and where it is written, in words."""
        budget, until = self.budget, self.free_on.isoformat()
        return budget.words, ", ".join(self.group), budget.amount(self.spent.of(budget.name)), until, budget.origin

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON."""
        budget = self.budget
        return {
            "policy": budget.origin,
            "per": [budget.period, *budget.each],
            "for": {**dict(budget.only), **dict(zip(budget.each, self.group, strict=True))},
            "limit": budget.name,
            "most": budget.limit,
            "spent": self.spent.of(budget.name),
            "calls_of_unknown_cost": self.spent.unpriced,
            "until": f"{self.free_on}T00:00Z",
        }

    def require(self, most: float = 0.0) -> None:
        """Check that one more call may begin.

        Raises:
            BudgetExceeded: The limit is reached, could be passed, or can no longer be checked.
        """
        if self.allows(most):
            return
        budget, spent = self.budget, self.spent.of(self.budget.name)
        reason = f"{budget.amount(spent)} are spent"
        if spent < budget.limit and self.spent.unpriced:
            reason = f"the cost of {self.spent.unpriced} model calls in it is not known"
        elif spent < budget.limit:
            reason += f", and one more call may cost ${most:.4f}"
        error = BudgetExceeded(
            f"budget: {budget.origin} allows {budget.words}: {reason}; the next {budget.period} begins at "
            f"{self.free_on}T00:00Z",
            fix="wait until then, or raise that limit",
        )
        error.is_of_many, error.free_at = True, beginning_of(self.free_on)
        raise error
