from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.engine.effects.effect import Job, NeedsDecision, Outcome, run_jobs
from strands_cli.errors import BudgetExceeded, RunFailed, WaitingForPerson


class Log:
    """What happened to jobs, in order; a job lasts as many turns of the loop as is set."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.outcomes: dict[str, Outcome] = {}

    def job(
        self, name: str, *deps: str, turns: int = 0, raises: BaseException | None = None, stop_on_error: bool = True
    ) -> Job:
        async def work() -> str:
            self.events.append(("start", name))
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.events.append(("cancelled", name))
                raise
            self.events.append(("end", name))
            if raises is not None:
                raise raises
            return name.upper()

        return Job(work, deps=deps, stop_on_error=stop_on_error)

    def tell(self, name: str, outcome: Outcome) -> None:
        self.outcomes[name] = outcome

    def run(self, jobs: Mapping[str, Job]) -> None:
        asyncio.run(run_jobs(jobs, self.tell))

    def order(self, kind: str) -> list[str]:
        return [name for what, name in self.events if what == kind]


def test_a_job_starts_as_soon_as_its_own_dependencies_are_done_and_not_layer_by_layer() -> None:
    log = Log()
    log.run(
        {
            "slow": log.job("slow", turns=50),
            "quick": log.job("quick"),
            "after_quick": log.job("after_quick", "quick"),
            "end": log.job("end", "after_quick", "slow"),
        }
    )
    assert log.events.index(("end", "after_quick")) < log.events.index(("end", "slow"))
    assert log.order("start")[-1] == "end"
    assert log.outcomes["end"] == Outcome("completed", "END")


def test_what_depends_on_a_failure_is_skipped_all_the_way_down_and_the_rest_goes_on() -> None:
    log = Log()
    log.run(
        {
            "bad": log.job("bad", raises=RunFailed("no"), stop_on_error=False),
            "b": log.job("b", "bad"),
            "c": log.job("c", "b", "other"),
            "other": log.job("other", turns=3),
        }
    )
    assert {name: outcome.status for name, outcome in log.outcomes.items()} == {
        "bad": "failed",
        "b": "skipped",
        "c": "skipped",
        "other": "completed",
    }
    assert log.outcomes["bad"].error == "no"


def test_a_failure_that_stops_cancels_what_runs_and_starts_nothing_more() -> None:
    log = Log()
    jobs = {
        "long": log.job("long", turns=10_000),
        "bad": log.job("bad", turns=2, raises=RunFailed("no")),
        "after": log.job("after", "long"),
    }
    with pytest.raises(RunFailed, match="no"):
        log.run(jobs)
    assert log.order("cancelled") == ["long"]
    assert "after" not in log.order("start")


def test_of_two_failures_at_once_the_first_of_the_file_is_raised() -> None:
    log = Log()
    both = {name: log.job(name, raises=RunFailed(name)) for name in ("z", "a")}
    with pytest.raises(RunFailed, match="z"):
        log.run(both)


def test_a_spent_budget_stops_every_job_also_where_failures_are_let_pass() -> None:
    log = Log()
    jobs = {
        "poor": log.job("poor", raises=BudgetExceeded("spent"), stop_on_error=False),
        "long": log.job("long", turns=10_000),
    }
    with pytest.raises(BudgetExceeded):
        log.run(jobs)


def test_a_job_that_waits_for_a_person_lets_the_others_finish() -> None:
    log = Log()
    jobs = {
        "gate": log.job("gate", raises=WaitingForPerson("asked")),
        "after_gate": log.job("after_gate", "gate"),
        "long": log.job("long", turns=20),
        "after_long": log.job("after_long", "long"),
    }
    with pytest.raises(WaitingForPerson, match="asked"):
        log.run(jobs)
    assert log.order("end") == ["gate", "long", "after_long"]
    assert set(log.outcomes) == {"long", "after_long"}


def test_all_questions_are_reported_and_a_decision_comes_first() -> None:
    log = Log()
    jobs = {
        "a": log.job("a", turns=2, raises=WaitingForPerson("first")),
        "b": log.job("b", raises=NeedsDecision("decide", fix="look")),
        "c": log.job("c", raises=WaitingForPerson("third")),
    }
    with pytest.raises(NeedsDecision, match="decide; first; third") as raised:
        log.run(jobs)
    assert raised.value.fix == "look"


def test_no_jobs_are_done_at_once() -> None:
    Log().run({})


@pytest.mark.parametrize("fails", [True, False])
def test_a_chain_of_thousands_and_thousands_side_by_side_end(fails: bool) -> None:
    log = Log()
    first = log.job("0", raises=RunFailed("no") if fails else None, stop_on_error=False)
    jobs = {"0": first} | {str(n): log.job(str(n), str(n - 1)) for n in range(1, 3000)}
    log.run(jobs | {f"side{n}": log.job(f"side{n}") for n in range(3000)})
    assert len(log.outcomes) == 6000
    assert log.outcomes["2999"].status == ("skipped" if fails else "completed")


@st.composite
def graphs(draw: Callable[..., Any]) -> dict[str, tuple[tuple[str, ...], int, bool]]:
    """Draw jobs without cycles: name -> dependencies, how long it lasts, whether it fails."""
    count = draw(st.integers(1, 8))
    names = [f"j{n}" for n in range(count)]
    jobs = {}
    for n, name in enumerate(names):
        deps = draw(st.lists(st.sampled_from(names[:n]), unique=True)) if n else []
        jobs[name] = (tuple(deps), draw(st.integers(0, 4)), draw(st.booleans()))
    order = draw(st.permutations(names))
    return {name: jobs[name] for name in order}


@given(graphs())
def test_every_job_ends_once_after_all_it_depends_on(drawn: dict[str, tuple[tuple[str, ...], int, bool]]) -> None:
    log = Log()
    log.run(
        {
            name: log.job(name, *deps, turns=turns, raises=RunFailed("no") if bad else None, stop_on_error=False)
            for name, (deps, turns, bad) in drawn.items()
        }
    )
    assert set(log.outcomes) == set(drawn)
    assert len(log.order("start")) == len(set(log.order("start")))
    for name, (deps, _, bad) in drawn.items():
        sound = all(log.outcomes[dep].status == "completed" for dep in deps)
        assert log.outcomes[name].status == (("failed" if bad else "completed") if sound else "skipped")
        if sound:
            assert all(log.events.index(("end", dep)) < log.events.index(("start", name)) for dep in deps)
