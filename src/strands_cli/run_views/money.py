"""The money that the runs of a store have spent: of limits over time, and as far as it tells what a next run costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.spending import Expense, day_of
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.stored_runs.ledger import BudgetState, Ledger, expenses_of
from strands_cli.engine.stored_runs.many_journals import runs_since
from strands_cli.policy.standing_budget import Payer
from strands_cli.system.atomic_file import user_name

if TYPE_CHECKING:
    from strands_cli.engine.store_port import RunStore
    from strands_cli.planning.plan_values import Plan
    from strands_cli.policy.standing_budget import StandingBudget

# Of which earlier runs a plan tells: completed ones of this time, and the last of them.
EARLIER_S, MOST_EARLIER = 90 * 86_400, 50


def states_for(planned: Plan, models: Sequence[str], store: RunStore) -> list[BudgetState]:
    """Return the limits over time that count the calls of a plan's models, with what is spent.

    Raises:
        RunRecordError: The store cannot be read.
    """
    payers = [Payer(planned.spec.name, label, user_name()) for label in models]
    return _states(planned.policy.budgets, store, lambda ledger, budget: filter(budget.counts, payers))


def states_of_all(budgets: Sequence[StandingBudget], store: RunStore) -> list[BudgetState]:
    """Return limits over time with what is spent, for each name that has spent something and has its own.

    Raises:
        RunRecordError: The store cannot be read.
    """
    nobody = Payer("", "", "")
    return _states(budgets, store, lambda ledger, budget: ledger.groups(budget) if budget.each else [nobody])


def _states(
    budgets: Sequence[StandingBudget],
    store: RunStore,
    payers_of: Callable[[Ledger, StandingBudget], Any],
) -> list[BudgetState]:
    if not budgets:
        return []
    today, ledger = day_of(time.time()), Ledger(store, SystemClock())
    ledger.read(min(budget.begins(today) for budget in budgets))
    states: dict[tuple[StandingBudget, tuple[str, ...]], BudgetState] = {}
    for budget in budgets:
        for payer in payers_of(ledger, budget):
            states.setdefault((budget, budget.group(payer)), ledger.state_of(budget, payer, today))
    return list(states.values())


def expected(workflow: str, store: RunStore) -> dict[str, Any] | None:
    """Return the median and the 90th percentile of what earlier runs of a workflow took; None without one.

    Raises:
        RunRecordError: The store cannot be read.
    """
    since = time.time() - EARLIER_S
    runs = [run for run in runs_since(store, since) if run.workflow == workflow and run.status == "completed"]
    runs = [run for run in runs if run.command is None][:MOST_EARLIER]
    totals = []
    for run, expenses in expenses_of(store, runs):
        total = Expense()
        for expense in expenses.by_day.values():
            total.add(expense)
        totals.append((run, total))
    if not totals:
        return None
    return {
        "runs": len(totals),
        "cost_usd": _percentiles([total.cost_usd for _, total in totals if not total.unpriced]),
        "tokens": _percentiles([total.tokens for _, total in totals]),
        "seconds": _percentiles([run.worked_s for run, _ in totals if run.worked_s is not None]),
    }


def _percentiles(values: Sequence[float]) -> dict[str, float] | None:
    ordered = sorted(values)
    return {f"p{part}": ordered[-(-len(ordered) * part // 100) - 1] for part in (50, 90)} if ordered else None
