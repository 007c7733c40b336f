"""What one agent may spend over a run and in a step: counted over processes, raised by name, free where reused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.engine.effects.budget import Budget, Spender
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.run_facts import raised_budgets
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.engine.waiting.questions import rows_before
from strands_cli.errors import BudgetExceeded, UsageError
from strands_cli.events import RunWarning, Usage
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.row_planner import agents_by_key
from strands_cli.workflow.sections import Budgets
from tests.engine.test_budget_limits import USE, Hanging, Slow, ended, run
from tests.fakes.plans import found, plan_of
from tests.fakes.ports import FakeClock, Say, ScriptedAgents, ScriptedTools
from tests.wordings import Wording

STEPS = ["writer", "editor", "writer", "writer"]
TURNS: dict[str, Any] = {f"steps.{n}": [USE, Say(f"said {n}")] for n in range(4)}


def chain(budgets: str = "{}", limits: str = "{}") -> Plan:
    listed = ", ".join(f"{{agent: {who}, input: hi {n}}}" for n, who in enumerate(STEPS))
    agents = f"{{writer: {{prompt: p, budgets: {budgets}, limits: {limits}}}, editor: {{prompt: p}}}}"
    runtime = "{provider: openai, model_id: gpt-4o-mini}"
    pattern = f"{{type: chain, config: {{steps: [{listed}]}}}}"
    return plan_of(f"version: 2\nname: t\nruntime: {runtime}\nagents: {agents}\npattern: {pattern}\n")


def agents() -> ScriptedAgents:
    return ScriptedAgents(TURNS, ScriptedTools({"x": lambda given: "y"}))


# The first call of each kind that the writer may no longer make, after one of the editor's in between.
@pytest.mark.parametrize(
    ("budgets", "made"),
    [
        ("{max_model_calls: 3}", 5),
        ("{max_tokens: 45}", 5),
        ("{max_tool_calls: 1}", 5),
        ("{max_steps: 2}", 6),
    ],
)
def test_an_agents_budget_counts_all_of_its_steps_and_no_others(budgets: str, wording: Wording, made: int) -> None:
    journal, playing = MemoryJournal(), agents()
    journal.put(id="run-7")
    error, _ = run(chain(budgets), playing, journal, playing.tools)
    assert error is not None
    wording(error.message)
    assert error.limit == "agents.writer." + budgets.strip("{}").split(":")[0]
    assert len(playing.asked) == made
    again = agents()
    error, _ = run(chain(budgets), again, journal, again.tools)
    assert error is not None, "what an earlier process spent still counts"
    wording(error.message)
    assert again.asked == []


def test_a_larger_limit_of_an_agent_lets_the_run_go_on() -> None:
    journal, plan, playing = MemoryJournal(), chain("{max_model_calls: 3}", "{tokens: 15}"), agents()
    first, _ = run(plan, playing, journal, playing.tools)
    assert first is not None
    assert first.limit == "agents.writer.tokens"
    larger = raised_budgets(plan, journal, {"agents.writer.tokens": "99"})
    error, _ = run(larger, agents(), journal, playing.tools)
    assert error is not None
    assert error.limit == "agents.writer.max_model_calls"
    largest = raised_budgets(plan, journal, {"agents.writer.max_model_calls": "6"})
    assert largest.agents["writer"].limits is not None
    assert largest.agents["writer"].limits.tokens == 99, "the record keeps what was raised before"
    last = agents()
    assert run(largest, last, journal, last.tools)[0] is None
    assert last.asked[0] == "steps.2/model.1"


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("agents.writer.max_model_calls", "2"),
        ("agents.writer.max_model_call", "9"),
        ("agents.writr.max_model_calls", "9"),
        ("agents.writer.tokens", "many"),
    ],
)
def test_a_limit_that_is_unknown_or_not_raised_is_an_error(word: str, value: str, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        raised_budgets(chain("{max_model_calls: 3}"), MemoryJournal(), {word: value})
    wording(raised.value)


def test_a_steps_tool_calls_are_checked_before_the_next(wording: Wording) -> None:
    playing = agents()
    error, _ = run(chain(limits="{tool_calls: 0}"), playing, None, playing.tools)
    assert error is not None
    wording(error.message)
    assert playing.tools.called == []
    assert run(chain(limits="{tool_calls: 1}"), agents(), None, playing.tools)[0] is None


def test_money_of_an_agent_and_of_a_step_stops_it() -> None:
    error, events = run(chain("{max_cost_usd: 0.5}"), Slow(cost=0.4))
    assert error is not None
    assert "agents.writer.budgets.max_cost_usd: 0.5" in error.message
    assert ended(events).model_calls == 3
    (warned,) = [event.message for event in events if isinstance(event, RunWarning)]
    assert "0.4" in warned
    assert "agents.writer.budgets.max_cost_usd" in warned
    error, _ = run(chain(limits="{cost_usd: 0.5}"), Slow(cost=None))
    assert error is None, "each step makes one call"


@pytest.mark.parametrize(
    ("given", "limit"),
    [({"limits": "{duration_s: 0.01}"}, "duration_s"), ({"budgets": "{max_duration_s: 0.01}"}, "max_duration_s")],
)
def test_a_step_is_broken_off_where_its_time_or_its_agents_ends(given: dict[str, str], limit: str) -> None:
    playing = Hanging()
    error, _ = run(chain(**given), playing)
    assert error is not None
    assert error.limit == f"agents.writer.{limit}"
    assert playing.cancelled


def test_the_time_of_an_agent_is_that_of_its_steps_in_earlier_processes_too() -> None:
    journal, clock = MemoryJournal(), FakeClock()
    for key, seconds in (("steps.0", 4.0), ("steps.1", 30.0)):
        journal.note(Row(key, "step", "done", "d", 1, started_at=100.0, ended_at=100.0 + seconds))
    plan = chain("{max_duration_s: 5}")
    agents_of = agents_by_key(plan.spec)
    budget = Budget.resumed(Budgets(max_duration_s=5), clock, journal, Spender("writer", agents_of=agents_of))
    clock.advance(60)
    assert budget.seconds == 4.0, "neither another agent's time nor the time between steps"

    async def work() -> None:
        clock.advance(1.5)

    asyncio.run(budget.in_time(work()))
    with pytest.raises(BudgetExceeded, match="max_duration_s: 5"):
        budget.require("model")


def test_a_limit_on_an_agents_money_needs_its_price() -> None:
    for given in ({"budgets": "{max_cost_usd: 1}"}, {"limits": "{cost_usd: 1}"}):
        text = chain(**given).text.replace("gpt-4o-mini", "unheard-of")
        plan = plan_of(text, catalog=discover_catalog([]))
        (finding,) = found(plan, "unknown-price")
        assert finding.where is not None
        assert (finding.where.pointer or "").startswith("/agents/writer/")


def test_what_a_rerun_takes_over_is_marked_and_costs_nothing_again() -> None:
    journal, playing = MemoryJournal(), agents()
    run(chain(), playing, journal, playing.tools)
    fresh = MemoryJournal()
    for row in rows_before(journal, "steps.3"):
        fresh.note(row)
    assert {row.detail["reused"] for row in fresh.rows()} == {True}
    budget = Budget.resumed(Budgets(), FakeClock(), fresh)
    assert (budget.steps, budget.model_calls, budget.tool_calls, budget.usage) == (0, 0, 0, Usage())
    last = agents()
    error, events = run(chain("{max_model_calls: 2}"), last, fresh, last.tools)
    assert error is None
    assert ended(events).model_calls == 2


def test_a_key_tells_its_agent() -> None:
    head = "version: 2\nname: t\nruntime: {provider: openai, model_id: m}\nagents: {a: {prompt: p}, b: {prompt: p}}\n"
    config = "{orchestrator: {agent: a}, worker_template: {agent: b}, reduce: {agent: a}}"
    of = agents_by_key(plan_of(f"{head}pattern: {{type: orchestrator_workers, config: {config}}}\n").spec)
    keys = ("orchestrator/model.0", "orchestrator#2/model.1", "workers.17/tool.0.x", "reduce", "x")
    assert [of(key) for key in keys] == [("a",), ("a",), ("b",), ("a",), ()]
    config = "{nodes: {n.1: {agent: a}, m: {type: hitl, prompt: p}}, edges: [{from: n.1, to: m}]}"
    of = agents_by_key(plan_of(f"{head}pattern: {{type: graph, config: {config}}}\n").spec)
    assert [of(key) for key in ("nodes.n.1#12/model.0", "nodes.m#1")] == [("a",), ()]
    config = "{producer: a, evaluator: {agent: b}, accept: {min_score: 5}}"
    of = agents_by_key(plan_of(f"{head}pattern: {{type: evaluator_optimizer, config: {config}}}\n").spec)
    assert [of(f"iterations.12.{who}/model.0") for who in ("producer", "evaluator")] == [("a",), ("b",)]


def test_a_key_tells_the_agents_that_are_tools_in_a_step_but_none_of_another_workflow() -> None:
    head = "version: 2\nname: t\nruntime: {provider: openai, model_id: m}\nagents: {a: {prompt: p}, b: {prompt: p}}\n"
    steps = "[{agent: a}, {tool: 'agent:b', input: {input: x}}]"
    of = agents_by_key(plan_of(f"{head}pattern: {{type: chain, config: {{steps: {steps}}}}}\n").spec)
    inner = "steps.0/tool.1.all/tool.0.b/agent.b"
    assert of(f"{inner}/model.0") == ("a", "b")
    assert of("steps.1/tool.0.b/agent.b") == ("b",)
    assert of("steps.0/tool.0.sub/steps.0/tool.0.b/agent.b/model.0") == ("a",)
