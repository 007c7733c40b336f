"""What many runs do together begins in the order of arrival, and no more often than the limits say."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.engine.effects.provider_limits import ProviderLimit, ProviderLimits, Rate, Turns, read_provider_limits
from strands_cli.errors import ExitCode, UsageError
from tests.fakes.ports import FakeClock


class Work:
    """Tasks that want a turn each, and keep it until they are let go."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.begun: list[int] = []
        self.ends: dict[int, asyncio.Event] = {}
        self.tasks: dict[int, asyncio.Task[None]] = {}

    async def wants(self, *numbers: int) -> None:
        for number in numbers:
            self.ends[number] = asyncio.Event()
            self.tasks[number] = asyncio.create_task(self._do(number))
        await settled()

    async def ends_of(self, *numbers: int) -> None:
        for number in numbers:
            self.ends[number].set()
        await settled()

    async def _do(self, number: int) -> None:
        async with self.turns.turn():
            self.begun.append(number)
            await self.ends[number].wait()


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_so_many_happen_at_a_time_and_the_others_begin_in_the_order_of_arrival() -> None:
    async def work() -> None:
        tasks = Work(Turns(FakeClock(), at_once=2))
        await tasks.wants(1, 2, 3, 4)
        assert tasks.begun == [1, 2]
        await tasks.ends_of(2)
        await tasks.wants(5)
        assert tasks.begun == [1, 2, 3]
        await tasks.ends_of(1, 3, 4)
        assert tasks.begun == [1, 2, 3, 4, 5]
        await tasks.ends_of(5)

    asyncio.run(work())


def test_one_that_is_cancelled_gives_its_place_to_the_next_while_it_waits_and_while_it_works() -> None:
    async def work() -> None:
        tasks = Work(Turns(FakeClock(), at_once=1))
        await tasks.wants(1, 2, 3, 4)
        tasks.tasks[2].cancel()
        tasks.tasks[1].cancel()
        await settled()
        assert tasks.begun == [1, 3]
        await tasks.ends_of(3, 4)
        assert tasks.begun == [1, 3, 4]
        assert tasks.tasks[1].cancelled()
        assert tasks.tasks[2].cancelled()

    asyncio.run(work())


def test_one_that_is_cancelled_while_the_rate_lets_it_wait_holds_up_no_other() -> None:
    class Stopped(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    async def work() -> None:
        clock = Stopped()
        tasks = Work(Turns(clock, at_once=2, rate=Rate(1, 60)))
        await tasks.wants(1, 2, 3)
        clock.advance(60)
        tasks.tasks[2].cancel()
        await settled()
        assert tasks.begun == [1, 3]
        await tasks.ends_of(1, 3)

    asyncio.run(work())


@given(st.integers(1, 5), st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_in_no_period_more_begin_than_the_rate_says_and_none_waits_longer_than_it_must(
    count: int, pauses: Sequence[int]
) -> None:
    rate, clock = Rate(count, 60), FakeClock()
    turns, begun = Turns(clock, rate=rate), list[float]()

    async def work() -> None:
        for pause in pauses:
            clock.advance(pause)
            arrived = clock.monotonic()
            async with turns.turn() as waited:
                begun.append(clock.monotonic())
                assert waited == begun[-1] - arrived

    asyncio.run(work())
    latest: deque[float] = deque(maxlen=count)
    now = 0.0
    for pause, moment in zip(pauses, begun, strict=True):
        now += pause
        earliest = latest[0] + rate.period_s if len(latest) == count else now
        assert moment == max(now, earliest)
        latest.append(moment)
        now = moment


def test_a_rate_lets_its_number_begin_at_once_and_the_next_when_the_first_is_a_period_old() -> None:
    async def work() -> list[float]:
        clock, begun = FakeClock(), []
        turns = Turns(clock, rate=Rate(3, 60))
        for _ in range(7):
            async with turns.turn():
                begun.append(clock.monotonic())
        return begun

    assert asyncio.run(work()) == [0, 0, 0, 60, 60, 60, 120]


def test_only_a_provider_with_a_limit_lets_wait() -> None:
    async def work() -> list[float]:
        limits = ProviderLimits.of({"openai": ProviderLimit(rate=Rate(1, 60))}, FakeClock())
        waited = []
        for provider in ("openai", "bedrock", "openai", "bedrock"):
            async with limits.turn(provider) as seconds:
                waited.append(seconds)
        return waited

    assert asyncio.run(work()) == [0, 0, 60, 0]


def test_limits_are_read_from_the_words_of_a_command_line() -> None:
    known = ("openai", "bedrock")
    assert read_provider_limits([], known) == {}
    assert read_provider_limits(["openai=4", "openai=60/m", "bedrock=5/s"], known) == {
        "openai": ProviderLimit(4, Rate(60, 60)),
        "bedrock": ProviderLimit(None, Rate(5, 1)),
    }


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("openai", "PROVIDER=4"),
        ("openai=", "PROVIDER=4"),
        ("openia=4", "'openai'"),
        ("gemini=4", "openai, bedrock"),
        ("openai=0", "60/m"),
        ("openai=60/min", "60/m"),
        ("openai=-1", "60/m"),
    ],
)
def test_a_bad_limit_is_refused_with_a_way_out(text: str, way: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_provider_limits([text], ("openai", "bedrock"))
    assert raised.value.exit_code == ExitCode.USAGE
    assert "--limit" in raised.value.message
    assert way in str(raised.value.fix)
