"""A clock that is set back between two processes of one run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports import Ports
from strands_cli.errors import BudgetExceeded, WaitingForPerson
from strands_cli.events import Event, RunFinished
from tests.fakes.plans import chain_of
from tests.fakes.ports import FakeClock, Say, ScriptedAgents, ScriptedHuman, ScriptedTools

HOUR = 3600.0
STEPS = """
- {agent: writer, input: one}
- {type: hitl, prompt: Good?, timeout_seconds: 60, default: late}
- {agent: editor, input: "{{ hitl_response }}"}
"""
TURNS = {"steps.0": [Say("one")], "steps.2": [Say("two")]}


class Died(BaseException):
    """Simulates a process that ends without a word."""


class Working(FakeClock):
    """A clock of a machine on which each model call takes ten seconds."""

    def tick(self, moment: str, key: str) -> None:
        if moment == "inside model":
            self.advance(10)


@dataclass
class Dying(Working):
    """The same, and the process dies after its first model call; `left` is what its record then says of its time."""

    journal: SqliteJournal | None = None
    left: dict[str, Any] = field(default_factory=dict)

    def tick(self, moment: str, key: str) -> None:
        super().tick(moment, key)
        if moment == "after model" and self.journal is not None:
            self.left = {name: self.journal.get(name) for name in ("status", "session_started_at", "worked_s")}
            raise Died


def process(journal: SqliteJournal, clock: Working, human: ScriptedHuman, limit: int = 100) -> list[Event]:
    """Start the chain or go on with it, as a process with this clock does."""
    plan = chain_of(STEPS, runtime=f"{{provider: openai, budgets: {{max_duration_s: {limit}}}}}")
    tools, events = ScriptedTools(), list[Event]()
    ports = Ports(journal, ScriptedAgents(TURNS, tools, clock.tick), tools, human, clock)
    asyncio.run(execute(plan, ports, "r", events.append, lambda texts: []))
    return events


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a run of which one step is done, ten seconds of work, and whose gate waits."""
    journal = SqliteJournal.create(tmp_path / "run")
    with pytest.raises(WaitingForPerson):
        process(journal, Working(), ScriptedHuman([Answer("waiting")]))
    journal.close()
    return tmp_path / "run"


def test_durations_and_the_order_of_rows_stay_what_they_are(directory: Path) -> None:
    journal = SqliteJournal.open(directory)
    events = process(journal, Working(epoch=FakeClock.epoch - HOUR), ScriptedHuman(["yes"]))
    rows = list(journal.rows())
    journal.close()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].seconds == 20.0
    assert [row.key for row in rows if "/" not in row.key] == ["steps.0", "steps.1", "steps.2"]
    assert all(row.ended_at is not None and row.ended_at >= row.started_at for row in rows)


def test_a_gate_is_not_overdue_because_the_clock_went_back(directory: Path) -> None:
    journal = SqliteJournal.open(directory)
    with pytest.raises(WaitingForPerson):
        process(journal, Working(epoch=FakeClock.epoch - HOUR), ScriptedHuman([Answer("waiting")]))
    with pytest.raises(BudgetExceeded):
        process(journal, Working(epoch=FakeClock.epoch - HOUR), ScriptedHuman(["yes"]), limit=10)
    journal.close()


def test_the_hour_that_came_twice_is_not_counted_as_work(directory: Path) -> None:
    """A process that is killed leaves only its rows to tell how long it worked."""
    journal = SqliteJournal.open(directory)
    dying = Dying(FakeClock.epoch - HOUR, journal=journal)
    with pytest.raises(Died):
        process(journal, dying, ScriptedHuman(["yes"]))
    # An exception lets a process put how it ended, which SIGKILL does not.
    journal.put(**dying.left)
    events = process(journal, Working(epoch=FakeClock.epoch - HOUR + 60), ScriptedHuman())
    journal.close()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].seconds < 100
