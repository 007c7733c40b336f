"""What one run spends, by day and model, and the limits over time of policy in which its calls count."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.effects.budget import REUSED
from strands_cli.events import Usage
from strands_cli.policy.standing_budget import Payer

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Clock, Row
    from strands_cli.policy.standing_budget import StandingBudget


@dataclass(slots=True)
class Expense:
    """What was spent on one model in one day; `unpriced` calls have no known cost."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def add(self, other: Expense) -> None:
        """Add another one."""
        self.calls += other.calls
        self.tokens += other.tokens
        self.cost_usd += other.cost_usd
        self.unpriced += other.unpriced

    def of(self, limit: str) -> float:
        """Return the amount that a limit of policy is about."""
        return {"max_cost_usd": self.cost_usd, "max_tokens": self.tokens, "max_model_calls": self.calls}[limit]


def day_of(seconds: float) -> datetime.date:
    """Return the day of a time, in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()


def beginning_of(day: datetime.date) -> float:
    """Return the time at which a day begins, in UTC."""
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()


class RunExpenses:
    """What one run spent, by day and model."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.by_day: dict[tuple[datetime.date, str], Expense] = {}
        for row in rows:
            if (paid := row.paid_calls) and not row.detail.get(REUSED):
                when = row.ended_at or row.started_at
                self.count(when, str(row.detail.get("model") or ""), row.usage, row.cost, calls=paid)

    def count(self, when: float, model: str, usage: Usage, cost: float | None, *, calls: int = 1) -> None:
        """Count an answered call of a model."""
        expense = Expense(calls, usage.total_tokens, cost or 0.0, cost is None)
        self.by_day.setdefault((day_of(when), model), Expense()).add(expense)

    def stored(self) -> list[list[Any]]:
        """Return it for the journal."""
        return [
            [day.isoformat(), model, each.calls, each.tokens, each.cost_usd, each.unpriced]
            for (day, model), each in self.by_day.items()
        ]

    @classmethod
    def of_stored(cls, stored: Iterable[Sequence[Any]]) -> RunExpenses:
        """Return what `stored` has returned; raise `ValueError` or `TypeError` for anything else."""
        expenses = cls()
        for day, model, calls, tokens, cost, unpriced in stored:
            key = datetime.date.fromisoformat(day), str(model)
            expenses.by_day[key] = Expense(int(calls), int(tokens), float(cost), int(unpriced))
        return expenses


class LimitedCalls(Protocol):
    """Has the model calls of many runs counted in limits; `Ledger` is one."""

    def reserved(
        self, budgets: Sequence[StandingBudget], payer: Payer, most: float
    ) -> AbstractAsyncContextManager[None]:
        """Have one call counted while the context is open."""


@dataclass(frozen=True)
class Spending:
    """What one run spends, and the limits over time that it counts in.

    Attributes:
        workflow: The name of its workflow.
        user: Who started it.
        budgets: The limits of policy that may count its calls.
        ledger: What all runs spend; None without limits.
    """

    clock: Clock
    workflow: str = ""
    user: str = ""
    expenses: RunExpenses = field(default_factory=RunExpenses)
    budgets: Sequence[StandingBudget] = ()
    ledger: LimitedCalls | None = None

    @property
    def limits_money(self) -> bool:
        """Whether a limit is on money."""
        return any(budget.name == "max_cost_usd" for budget in self.budgets)

    def reserved(self, model: str, most: float) -> AbstractAsyncContextManager[None]:
        """Return the context of one call of a model (`provider/model_id`); see `Ledger.reserved`."""
        if self.ledger is None:
            return contextlib.nullcontext()
        payer = Payer(self.workflow, model, self.user)
        counting = [budget for budget in self.budgets if budget.counts(payer)]
        return self.ledger.reserved(counting, payer, most) if counting else contextlib.nullcontext()

    def count(self, model: str, usage: Usage, cost: float | None) -> None:
        """Count an answered call."""
        self.expenses.count(self.clock.now(), model, usage, cost)
