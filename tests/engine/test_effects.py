from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from strands_cli.engine.effects.effect import Effect, EffectSpec, NeedsDecision
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import ExitCode, RunRecordError, WaitingForPerson
from strands_cli.events import Usage
from strands_cli.texts.canonical_json import digest_of
from tests.fakes.ports import FakeClock

KEY = "steps.0/tool.1.file_write"


def effect(journal: MemoryJournal, given: Any = "in", *, repeatable: bool = False, clock: Any = None) -> Effect:
    return Effect(journal, clock or FakeClock(), EffectSpec(KEY, "tool", given, repeatable))


def journal_with(**fields: Any) -> MemoryJournal:
    journal = MemoryJournal()
    journal.note(replace(Row(KEY, "tool", "done", digest_of("in"), output="out", started_at=5.0), **fields))
    return journal


def test_what_is_done_is_answered_from_the_journal() -> None:
    recorded = effect(journal_with()).recorded
    assert recorded is not None
    assert recorded.output == "out"


def test_a_changed_input_of_what_is_done_is_refused_by_its_key() -> None:
    with pytest.raises(RunRecordError, match=KEY) as raised:
        effect(journal_with(), "other")
    assert raised.value.exit_code == ExitCode.RUN_RECORD


@pytest.mark.parametrize("given", ["in", "other"])
def test_what_had_started_and_must_not_happen_twice_needs_a_decision(given: str) -> None:
    with pytest.raises(NeedsDecision, match=KEY) as raised:
        effect(journal_with(status="started"), given)
    assert isinstance(raised.value, WaitingForPerson)
    assert raised.value.exit_code == ExitCode.WAITING


@pytest.mark.parametrize("status", ["failed", "waiting"])
def test_what_failed_or_waited_may_begin_again(status: Any) -> None:
    assert effect(journal_with(status=status)).recorded is None


def test_what_had_started_and_may_be_repeated_is_begun_again_as_the_next_attempt() -> None:
    journal = journal_with(status="started", attempt=2)
    again = effect(journal, repeatable=True)
    assert again.recorded is None
    asyncio.run(again.start())
    row = journal.row(KEY)
    assert row is not None
    assert (row.status, row.attempt, row.output) == ("started", 3, None)


def test_what_an_effect_began_from_is_there_for_the_next_process_unless_its_input_changed() -> None:
    journal = MemoryJournal()
    asyncio.run(effect(journal, repeatable=True).start(["a text"]))
    assert effect(journal, repeatable=True).begun_with == ["a text"]
    assert effect(journal, "other", repeatable=True).begun_with is None


def test_an_effect_leaves_a_row_for_each_way_it_can_end() -> None:
    clock, journal = FakeClock(epoch=100.0), MemoryJournal()

    async def live(end: str) -> Row:
        one = effect(journal, end, clock=clock)
        await one.start()
        clock.advance(2)
        if end == "done":
            await one.finish({"x": 1}, usage=Usage(1, 2), cost=0.5, detail={"rule": "r"})
        elif end == "failed":
            await one.fail("it broke")
        else:
            await one.wait({"prompt": "?"})
        row = journal.row(KEY)
        assert row is not None
        return row

    failed, waiting, done = (asyncio.run(live(end)) for end in ("failed", "waiting", "done"))
    assert (failed.status, failed.detail, failed.started_at, failed.ended_at) == (
        "failed",
        {"error": "it broke"},
        100.0,
        102.0,
    )
    assert (waiting.status, waiting.detail, waiting.attempt) == ("waiting", {"prompt": "?"}, 2)
    assert (done.status, done.output, done.usage, done.cost, done.detail, done.digest, done.attempt) == (
        "done",
        {"x": 1},
        Usage(1, 2),
        0.5,
        {"rule": "r"},
        digest_of("done"),
        3,
    )


class NotingJournal(MemoryJournal):
    """Tells apart what must be durable before going on from what may lag behind."""

    def __init__(self) -> None:
        super().__init__()
        self.durable: list[str] = []

    async def write(self, row: Row) -> None:
        self.durable.append(row.status)
        await super().write(row)


def test_only_the_start_of_what_must_not_happen_twice_is_durable_before_it_happens() -> None:
    for repeatable, durable in ((False, ["started"]), (True, [])):
        journal = NotingJournal()
        asyncio.run(effect(journal, repeatable=repeatable).start())
        assert journal.durable == durable


def test_a_question_that_waits_keeps_the_time_since_when() -> None:
    journal, clock = MemoryJournal(), FakeClock(epoch=100.0)

    async def wait() -> float | None:
        one = effect(journal, clock=clock)
        await one.start()
        await one.wait({})
        clock.advance(50)
        return one.waiting_since

    assert [asyncio.run(wait()) for _ in range(3)] == [None, 100.0, 100.0]
