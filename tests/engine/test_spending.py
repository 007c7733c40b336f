"""What the runs of a store spend by day, in limits over time: each run once, also one of another process."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.effects.budget import REUSED
from strands_cli.engine.effects.spending import RunExpenses, day_of
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.engine.stored_runs.ledger import Ledger
from strands_cli.errors import BudgetExceeded
from strands_cli.events import Usage
from strands_cli.policy.standing_budget import Payer, StandingBudget
from tests.fakes.ports import FakeClock

# A Tuesday, 22:13 in UTC.
NOW = FakeClock().now()
DAY = 86_400
ME = Payer("flow", "openai/m", "ann")


def budget(limit: float = 10, name: str = "max_model_calls", period: str = "day") -> StandingBudget:
    return StandingBudget(period, name, limit, (), (), "user", "policy.yaml:3")


def call(number: int, when: float, cost: float | None = 1.0, **detail: Any) -> Row:
    detail = {"model": "openai/m", **detail}
    key = f"steps.{number}/model.0"
    return Row(key, "model", "done", "d", usage=Usage(10, 5), cost=cost, started_at=when, ended_at=when, detail=detail)


def run(runs: Path, name: str, rows: Sequence[Row], status: str = "completed", **facts: Any) -> None:
    ended_at = max(row.ended_at or 0.0 for row in rows)
    with contextlib.closing(SqliteJournal.create(runs / name)) as journal:
        journal.put(status=status, started_at=1.0, ended_at=ended_at, workflow="flow", pattern="chain", user="ann")
        journal.put(**facts)
        asyncio.run(written(journal, rows))


async def written(journal: SqliteJournal, rows: Sequence[Row]) -> None:
    for row in rows:
        await journal.write(row)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a directory of runs."""
    return tmp_path / "runs"


def spent(runs: Path, clock: FakeClock, *budgets: StandingBudget) -> list[float]:
    """Return what is spent of limits, when a call may begin."""
    ledger = Ledger(FolderStore(runs), clock)

    async def asked() -> None:
        async with ledger.reserved(budgets, ME, 0.0):
            pass

    asyncio.run(asked())
    states = [ledger.state_of(each, ME, day_of(clock.now())) for each in budgets]
    return [state.spent.of(state.budget.name) for state in states]


def test_a_call_counts_in_the_period_in_which_it_ended(runs: Path, clock: FakeClock) -> None:
    run(runs, "a", [call(0, NOW - DAY), call(1, NOW - 2 * DAY), call(2, NOW)])
    run(runs, "b", [call(0, NOW - 20 * DAY)])
    periods = [budget(period=period) for period in ("day", "week", "month")]
    assert spent(runs, clock, *periods) == [1, 2, 3]
    clock.advance(2 * 3600)  # midnight is over
    assert spent(runs, clock, *periods) == [0, 2, 3]


def test_what_a_rerun_took_over_does_not_count_again(runs: Path, clock: FakeClock) -> None:
    run(runs, "a", [call(0, NOW)])
    run(runs, "b", [call(0, NOW, **{REUSED: True}), call(1, NOW)])
    assert spent(runs, clock, budget(), budget(name="max_tokens", limit=1000)) == [2, 30]


@pytest.mark.parametrize("status", ["running", "waiting", "failed", "interrupted", "cancelled"])
def test_a_run_counts_whatever_became_of_it(runs: Path, clock: FakeClock, status: str) -> None:
    run(runs, "a", [call(0, NOW)], status)
    assert spent(runs, clock, budget()) == [1]


def test_what_is_stored_at_the_end_is_what_the_rows_tell(runs: Path, clock: FakeClock) -> None:
    rows = [call(0, NOW), call(1, NOW - DAY, cost=None), call(2, NOW, model="openai/other")]
    run(runs, "a", rows)
    run(runs, "b", rows, spent=RunExpenses(rows).stored())
    run(runs, "c", rows, spent="damaged")
    run(runs, "d", rows, spent=[["no", "day"]])
    assert spent(runs, clock, budget(100)) == [8]
    assert RunExpenses.of_stored(RunExpenses(rows).stored()).by_day == RunExpenses(rows).by_day


def test_a_damaged_run_does_not_keep_others_from_working(runs: Path, clock: FakeClock) -> None:
    run(runs, "a", [call(0, NOW)])
    run(runs, "b", [call(0, NOW)])
    (runs / "b" / "journal.sqlite").write_bytes(b"not a database" * 1000)
    assert spent(runs, clock, budget()) == [1]


def test_a_run_of_this_process_counts_once_before_and_after_its_end(runs: Path, clock: FakeClock) -> None:
    run(runs, "a", [call(0, NOW)])
    ledger, expenses = Ledger(FolderStore(runs), clock), RunExpenses([call(0, NOW)])
    standing, today = budget(), day_of(NOW)
    ledger.read(today)
    ledger.begin("a", ME, expenses)
    expenses.count(NOW, "openai/m", Usage(10, 5), 1.0)
    assert ledger.state_of(standing, ME, today).spent.calls == 2
    with contextlib.closing(SqliteJournal.open(runs / "a")) as journal:
        asyncio.run(written(journal, [call(1, NOW)]))
    ledger.end("a")
    assert ledger.state_of(standing, ME, today).spent.calls == 2

    async def asked() -> None:
        async with ledger.reserved([standing], ME, 0.0):
            assert ledger.state_of(standing, ME, today).spent.calls == 2, "it is read again"

    asyncio.run(asked())


def test_calls_side_by_side_cannot_pass_a_limit_together(runs: Path, clock: FakeClock) -> None:
    ledger, expenses, standing = Ledger(FolderStore(runs), clock), RunExpenses(), budget(3)
    ledger.begin("a", ME, expenses)
    began, refusals = list[int](), list[BudgetExceeded]()

    async def asked(number: int) -> None:
        try:
            async with ledger.reserved([standing], ME, 0.0):
                began.append(number)
                await asyncio.sleep(0)
                expenses.count(clock.now(), "openai/m", Usage(10, 5), 1.0)
        except BudgetExceeded as error:
            refusals.append(error)

    async def together() -> None:
        await asyncio.gather(*map(asked, range(20)))

    asyncio.run(together())
    assert (len(began), len(refusals)) == (3, 17)
    assert {day_of(error.free_at or 0.0) for error in refusals} == {datetime.date(2023, 11, 15)}


def test_a_call_that_could_pass_the_money_is_refused_and_unknown_costs_are_never_safe(
    runs: Path, clock: FakeClock
) -> None:
    run(runs, "a", [call(0, NOW, cost=4.0)])
    ledger, standing = Ledger(FolderStore(runs), clock), budget(5.0, "max_cost_usd")

    async def asked(most: float) -> None:
        async with ledger.reserved([standing], ME, most):
            pass

    asyncio.run(asked(1.0))
    with pytest.raises(BudgetExceeded, match=r"policy\.yaml:3"):
        asyncio.run(asked(1.1))
    clock.advance(60)
    run(runs, "b", [call(0, NOW, cost=None)])
    with pytest.raises(BudgetExceeded):
        asyncio.run(asked(0.0))


@pytest.mark.parametrize(
    ("period", "day", "begins", "ends"),
    [
        ("day", "2026-12-31", "2026-12-31", "2027-01-01"),
        ("week", "2026-11-29", "2026-11-23", "2026-11-30"),
        ("week", "2026-11-30", "2026-11-30", "2026-12-07"),
        ("month", "2026-01-31", "2026-01-01", "2026-02-01"),
        ("month", "2026-12-01", "2026-12-01", "2027-01-01"),
    ],
)
def test_periods_are_those_of_the_calendar(period: str, day: str, begins: str, ends: str) -> None:
    date = datetime.date.fromisoformat(day)
    standing = budget(period=period)
    assert (standing.begins(date).isoformat(), standing.ends(date).isoformat()) == (begins, ends)
