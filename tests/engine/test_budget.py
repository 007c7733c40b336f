from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.journal.journal_rows import Journal, Row, RowKind
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports import Ports
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import BudgetExceeded, ExitCode
from strands_cli.events import Event, RunFinished, RunWarning, Usage
from strands_cli.workflow.sections import Budgets
from tests.fakes.plans import chain_of
from tests.fakes.ports import FakeClock, Say, ScriptedAgents, ScriptedHuman, ScriptedTools, Use

ROWS = [
    Row("steps.0", "step", "done", "d"),
    Row("steps.0/model.0", "model", "done", "d", usage=Usage(10, 5)),
    Row("steps.0/tool.0.x", "tool", "done", "d"),
    Row("steps.0/tool.0.x/approval", "human", "done", "d"),
    Row("steps.0/model.1", "model", "failed", "d", usage=Usage(100, 100)),
    Row("steps.1", "human", "done", "d"),
    Row("steps.2", "step", "started", "d"),
]


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("step", {"max_steps": 2}),
        ("model", {"max_model_calls": 1}),
        ("model", {"max_tokens": 15}),
        ("tool", {"max_tool_calls": 1}),
        ("step", {"max_duration_s": 60}),
        ("model", {"max_duration_s": 60}),
        ("tool", {"max_duration_s": 60}),
    ],
)
def test_each_limit_stops_the_next_effect_and_counts_what_earlier_processes_did(
    kind: RowKind, limit: dict[str, int]
) -> None:
    journal, clock = MemoryJournal(), FakeClock()
    for row in ROWS:
        journal.note(row)
    journal.put(worked_s=50.0)
    ((name, value),) = limit.items()
    larger = Budget.resumed(Budgets.model_validate({name: value + 1}), clock, journal)
    same = Budget.resumed(Budgets.model_validate(limit), clock, journal)
    clock.advance(10)
    larger.require(kind)
    with pytest.raises(BudgetExceeded, match=rf"runtime\.budgets\.{name}: {value}") as raised:
        same.require(kind)
    assert raised.value.exit_code == ExitCode.BUDGET == 20
    assert name in str(raised.value.fix)
    same.require("human")
    same.require("artifacts")


def test_a_killed_process_counts_its_time_as_far_as_its_rows_tell() -> None:
    journal = MemoryJournal()
    journal.put(worked_s=7.0, session_started_at=1000.0)
    assert Budget.resumed(Budgets(), FakeClock(), journal).seconds == 7.0
    journal.note(Row("steps.0", "step", "done", "d", started_at=1010.0, ended_at=1030.0))
    journal.note(Row("steps.1", "step", "started", "d", started_at=1035.0))
    assert Budget.resumed(Budgets(), FakeClock(), journal).seconds == 42.0
    journal.put(session_started_at=2000.0)
    assert Budget.resumed(Budgets(), FakeClock(), journal).seconds == 7.0, "the rows are older than that process"


def run_chain(
    budgets: str, turns: dict[str, Any], journal: Journal | None = None, clock: FakeClock | None = None
) -> tuple[BudgetExceeded | None, list[Event], Journal]:
    steps = "\n".join(f"- {{agent: writer, input: hi {n}}}" for n in range(len(turns)))
    plan = chain_of(steps, runtime=f"{{provider: openai, budgets: {budgets}}}")
    journal = journal or MemoryJournal()
    events: list[Event] = []
    tools = ScriptedTools({"x": str})
    ports = Ports(journal, ScriptedAgents(turns, tools), tools, ScriptedHuman(), clock or FakeClock())
    try:
        asyncio.run(execute(plan, ports, "r", events.append, lambda texts: []))
    except BudgetExceeded as error:
        return error, events, journal
    return None, events, journal


def test_a_run_that_reaches_a_limit_stops_and_keeps_what_was_done() -> None:
    turns = {"steps.0": [Use((("x", {}),)), Say("one")], "steps.1": [Say("two")]}
    error, events, journal = run_chain("{max_model_calls: 2}", turns)
    assert error is not None
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].status, events[-1].model_calls) == ("failed", 2)
    assert events[-1].reason == error.message
    done = journal.row("steps.0")
    assert done is not None
    assert done.output["response"] == "one"
    error, events, _ = run_chain("{max_model_calls: 3}", turns, journal)
    assert error is None
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].status, events[-1].model_calls) == ("completed", 3)


def test_a_limit_of_no_tool_calls_allows_none() -> None:
    error, _, journal = run_chain("{max_tool_calls: 0}", {"steps.0": [Use((("x", {}),)), Say("one")]})
    assert error is not None
    assert "max_tool_calls" in error.message
    assert list(journal.rows("tool")) == []


def test_at_the_threshold_one_warning_is_given_for_each_limit() -> None:
    turns: dict[str, Any] = {f"steps.{n}": [Say("x")] for n in range(9)}
    error, events, _ = run_chain("{max_tokens: 150, max_steps: 9, warn_threshold: 0.5}", turns)
    assert error is None
    steps, tokens = [event.message for event in events if isinstance(event, RunWarning)]
    assert re.search(r"\b5\b.*runtime\.budgets\.max_steps: 9", steps)
    assert re.search(r"\b75\b.*runtime\.budgets\.max_tokens: 150", tokens)
