"""`runtime.max_parallel` bounds the steps that run at once; a step begins when it has its slot; a gate needs none."""

from __future__ import annotations

import asyncio
import contextlib

from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports import AgentAnswer, AgentRequest, Ports
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import WaitingForPerson
from strands_cli.events import Event, StepFinished, StepStarted
from tests.fakes.plans import plan_of
from tests.fakes.ports import FakeClock, ScriptedHuman, ScriptedTools

HEAD = """
version: 2
name: t
runtime: {provider: openai, model_id: m, max_parallel: 2}
agents: {writer: {prompt: p}}
"""


class Busy:
    """Agents that take time; `most` is how many did so at once, `reported` whether an event did so for each."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.reported: list[bool] = []
        self.now = self.most = 0

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> AgentAnswer:
        self.reported.append(any(isinstance(event, StepStarted) and event.key == scope.key for event in self.events))
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(10):
            await asyncio.sleep(0)
        self.now -= 1
        return AgentAnswer("x", "end_turn")


def run(branches: str, human: ScriptedHuman) -> tuple[Busy, list[Event], MemoryJournal]:
    plan = plan_of(f"{HEAD}pattern: {{type: parallel, config: {{branches: [{branches}]}}}}\n")
    events: list[Event] = []
    agents, journal = Busy(events), MemoryJournal()
    ports = Ports(journal, agents, ScriptedTools(), human, FakeClock())
    with contextlib.suppress(WaitingForPerson):
        asyncio.run(execute(plan, ports, "run-1", events.append, lambda _: []))
    return agents, events, journal


def branches(count: int, step: str = "agent: writer, input: go") -> str:
    return ", ".join(f"{{id: b{n}, steps: [{{{step}}}]}}" for n in range(count))


def test_no_more_steps_have_begun_than_there_are_slots() -> None:
    agents, events, journal = run(branches(6), ScriptedHuman())
    assert agents.most == 2
    assert agents.reported == [True] * 6
    under_way: set[str] = set()
    for event in events:
        if isinstance(event, StepStarted):
            under_way.add(event.key)
        elif isinstance(event, StepFinished):
            under_way.remove(event.key)
        assert len(under_way) <= 2
    assert [row.key for row in journal.rows()] == [f"branches.b{n}.steps.0" for n in range(6)]


def test_gates_take_no_slot() -> None:
    gates = branches(3, "type: hitl, prompt: well?")
    more = branches(2).replace("id: b", "id: c")
    human = ScriptedHuman([Answer("waiting")] * 3)
    agents, events, _ = run(f"{gates}, {more}", human)
    assert len(human.asked) == 3
    assert agents.most == 2
    assert len([event for event in events if isinstance(event, StepFinished)]) == 2
