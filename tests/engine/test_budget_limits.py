"""Limits hold side by side, in time, in money, for one agent's step, and over a resume."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Journal, Row
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports import AgentAnswer, AgentRequest, Ports
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import BudgetExceeded, ExitCode
from strands_cli.events import Event, RunFinished, RunWarning, Usage
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.prices import Price, PriceTable
from strands_cli.workflow.sections import Budgets
from tests.fakes.plans import plan_of
from tests.fakes.ports import FakeClock, Say, ScriptedAgents, ScriptedHuman, ScriptedTools, Use
from tests.wordings import Wording

AGENTS = "{writer: {prompt: p}}"


def planned(pattern: str, *, budgets: str = "{}", agents: str = AGENTS) -> Plan:
    runtime = f"{{provider: openai, model_id: gpt-4o-mini, budgets: {budgets}}}"
    return plan_of(f"version: 2\nname: t\nruntime: {runtime}\nagents: {agents}\npattern: {pattern}\n")


def chain(steps: int, **given: str) -> Plan:
    listed = ", ".join(f"{{agent: writer, input: hi {n}}}" for n in range(steps))
    return planned(f"{{type: chain, config: {{steps: [{listed}]}}}}", **given)


def branches(count: int, **given: str) -> Plan:
    listed = ", ".join(f"{{id: b{n}, steps: [{{agent: writer, input: x}}]}}" for n in range(count))
    return planned(f"{{type: parallel, config: {{branches: [{listed}]}}}}", **given)


def run(
    plan: Plan, agents: Any, journal: Journal | None = None, tools: Any = None
) -> tuple[BudgetExceeded | None, list[Event]]:
    events: list[Event] = []
    ports = Ports(journal or MemoryJournal(), agents, tools or ScriptedTools(), ScriptedHuman(), FakeClock())
    try:
        asyncio.run(execute(plan, ports, "run-7", events.append, lambda texts: []))
    except BudgetExceeded as error:
        return error, events
    return None, events


def ended(events: Sequence[Event]) -> RunFinished:
    assert isinstance(events[-1], RunFinished)
    return events[-1]


@dataclasses.dataclass
class Slow:
    """Agents whose calls all are under way before the first is answered; `cost` is what each reports."""

    cost: float | None = 0.0
    usage: Usage = dataclasses.field(default_factory=lambda: Usage(10, 5))
    began: list[str] = dataclasses.field(default_factory=list)

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        effect = scope.model_effect({"prompt": request.prompt, "key": scope.key})
        if effect.recorded is None:
            self.began.append(scope.key)
            await effect.start()
            for _ in range(20):
                await asyncio.sleep(0)
            await effect.finish({"said": "x"}, usage=self.usage, cost=self.cost)
            scope.count_model_call(self.usage, self.cost)
        return AgentAnswer("x", "end_turn", self.usage)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_branches_side_by_side_never_begin_more_calls_than_the_limit(limit: int) -> None:
    agents = Slow()
    error, events = run(branches(5, budgets=f"{{max_model_calls: {limit}}}"), agents)
    assert error is not None
    assert len(agents.began) == limit
    assert ended(events).status == "failed"
    agents = Slow()
    error, events = run(branches(5, budgets="{max_model_calls: 5}"), agents)
    assert error is None
    assert ended(events).model_calls == 5


def test_a_run_stopped_by_its_budget_has_failed_with_that_reason_and_says_how_to_go_on() -> None:
    journal = MemoryJournal()
    journal.put(id="run-7")
    turns = {"steps.0": [Say("one")], "steps.1": [Say("two")]}
    error, events = run(chain(2, budgets="{max_tokens: 15}"), ScriptedAgents(turns), journal)
    assert error is not None
    assert error.exit_code == ExitCode.BUDGET == 20
    assert error.message.endswith(" runtime.budgets.max_tokens: 15")
    assert "strands resume run-7 --budget max_tokens=N" in (error.fix or "")
    assert (ended(events).status, ended(events).reason) == ("failed", error.message)
    assert (journal.get("status"), journal.get("reason")) == ("failed", error.message)
    kept = journal.row("steps.0")
    assert kept is not None
    assert (kept.status, kept.output["response"]) == ("done", "one")


def test_a_larger_limit_goes_on_where_the_smaller_one_stopped_and_pays_nothing_twice() -> None:
    journal = MemoryJournal()
    turns = {"steps.0": [Say("one")], "steps.1": [Say("two")]}
    assert run(chain(2, budgets="{max_model_calls: 1}"), ScriptedAgents(turns), journal)[0] is not None
    assert run(chain(2, budgets="{max_model_calls: 1}"), ScriptedAgents(turns), journal)[0] is not None, "still spent"
    agents = ScriptedAgents(turns)
    error, events = run(chain(2, budgets="{max_model_calls: 2}"), agents, journal)
    assert error is None
    assert agents.asked == ["steps.1/model.0"]
    assert ended(events).model_calls == 2


# -- money


def test_money_is_counted_and_stops_the_next_call() -> None:
    agents = Slow(cost=0.4)
    error, events = run(chain(5, budgets="{max_cost_usd: 1}"), agents)
    assert error is not None
    assert "max_cost_usd: 1" in error.message
    assert len(agents.began) == 3
    assert ended(events).cost_usd == pytest.approx(1.2)
    (warned,) = [event.message for event in events if isinstance(event, RunWarning)]
    assert "0.8" in warned
    assert "runtime.budgets.max_cost_usd: 1" in warned


def test_what_earlier_processes_paid_counts() -> None:
    journal = MemoryJournal()
    journal.note(Row("steps.0/model.0", "model", "done", "d", usage=Usage(1, 1), cost=0.75))
    budget = Budget.resumed(Budgets(max_cost_usd=0.75), FakeClock(), journal)
    assert budget.cost == 0.75
    with pytest.raises(BudgetExceeded, match="max_cost_usd"):
        budget.require("model")


def test_one_call_of_unknown_cost_makes_the_sum_unknown_and_a_limit_on_money_stop_the_run(wording: Wording) -> None:
    error, events = run(chain(2), Slow(cost=None))
    assert error is None
    assert ended(events).cost_usd is None
    agents = Slow(cost=None)
    error, _ = run(chain(2, budgets="{max_cost_usd: 1}"), agents)
    assert error is not None
    wording(error.message)
    assert len(agents.began) == 1


def test_a_run_without_model_calls_costs_nothing() -> None:
    assert Budget(Budgets(), FakeClock()).cost == 0.0


def test_a_model_that_reports_no_tokens_is_reported_where_tokens_are_limited() -> None:
    _, events = run(chain(3, budgets="{max_tokens: 100}"), Slow(usage=Usage()))
    (warned,) = [event.message for event in events if isinstance(event, RunWarning)]
    assert "runtime.budgets.max_tokens" in warned


# -- time


class Hanging:
    """An agent that takes longer than any test has, or fails at once."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.cancelled = False
        self.error = error

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        if self.error is not None:
            raise self.error
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError


def test_a_step_is_broken_off_where_the_runs_time_ends() -> None:
    agents, journal = Hanging(), MemoryJournal()
    error, events = run(chain(1, budgets="{max_duration_s: 0.01}"), agents, journal)
    assert error is not None
    assert "max_duration_s: 0.01" in error.message
    assert agents.cancelled
    assert ended(events).status == "failed"
    begun = journal.row("steps.0")
    assert begun is not None
    assert begun.status == "started", "a run with more time goes on with it"


def test_a_timeout_of_something_else_is_not_taken_for_the_budgets() -> None:
    with pytest.raises(TimeoutError, match="theirs"):
        run(chain(1, budgets="{max_duration_s: 60}"), Hanging(TimeoutError("theirs")))


# -- one agent


def limited(limits: str, *turns: Any, journal: Journal | None = None) -> tuple[BudgetExceeded | None, ScriptedAgents]:
    tools = ScriptedTools({"x": str})
    agents = ScriptedAgents({"steps.0": turns, "steps.1": turns}, tools)
    agents_text = f"{{writer: {{prompt: p, limits: {limits}}}}}"
    return run(chain(2, agents=agents_text), agents, journal, tools)[0], agents


USE = Use((("x", {}),))


def test_an_agents_turns_are_counted_for_each_step_of_its_own(wording: Wording) -> None:
    error, agents = limited("{turns: 2}", USE, Say("done"))
    assert error is None, "two turns in each of two steps"
    error, agents = limited("{turns: 2}", USE, USE, Say("done"))
    assert error is not None
    wording(error.message)
    assert error.exit_code == 20
    assert agents.asked == ["steps.0/model.0", "steps.0/model.1"]


def test_an_agents_tokens_are_checked_before_its_next_call(wording: Wording) -> None:
    error, agents = limited("{tokens: 30}", USE, USE, Say("done"))
    assert error is not None
    wording(error.message)
    assert len(agents.asked) == 2
    assert limited("{tokens: 31}", USE, USE, Say("done"))[0] is None


def test_what_the_journal_answers_counts_to_an_agents_limits_and_is_never_refused() -> None:
    journal = MemoryJournal()
    assert limited("{turns: 2}", USE, USE, Say("done"), journal=journal)[0] is not None
    error, again = limited("{turns: 2}", USE, USE, Say("done"), journal=journal)
    assert error is not None
    assert again.asked == []
    error, tokens = limited("{tokens: 30}", USE, USE, Say("done"), journal=journal)
    assert error is not None
    assert tokens.asked == []
    error, larger = limited("{turns: 3}", USE, USE, Say("done"), journal=journal)
    assert error is None
    assert larger.asked[0] == "steps.0/model.2"


def test_every_step_gets_its_agents_limits_the_runs_policy_and_the_prices() -> None:
    seen: Mapping[str, Any] = {}

    class Looking:
        async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
            nonlocal seen
            seen = {"limits": scope.limits.limits, "retries": scope.limits.retries, "prices": scope.limits.prices}
            return AgentAnswer("x", "end_turn")

    plan = chain(1, agents="{writer: {prompt: p, limits: {turns: 9, tokens: 8}}}")
    plan = dataclasses.replace(plan, prices=PriceTable({"a/b": Price(1, 1)}, "f"))
    run(plan, Looking())
    assert (seen["limits"].turns, seen["limits"].tokens) == (9, 8)
    assert seen["retries"] == plan.spec.runtime.failure_policy
    assert seen["retries"].retries == 2
    assert seen["prices"] is plan.prices


def test_a_call_that_failed_gives_its_place_back() -> None:
    budget = Budget(Budgets(max_model_calls=1, max_tool_calls=1), FakeClock())
    for kind in ("model", "tool"):
        budget.begin_call(kind)  # type: ignore[arg-type]
        with pytest.raises(BudgetExceeded):
            budget.require(kind)  # type: ignore[arg-type]
        budget.release_call(kind)  # type: ignore[arg-type]
        budget.require(kind)  # type: ignore[arg-type]
