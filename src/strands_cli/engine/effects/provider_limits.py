"""Turns for work that many runs want at once: how much at a time and how often, and that of each model provider."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from strands_cli.engine.journal.journal_rows import Clock
from strands_cli.errors import UsageError, suggest
from strands_cli.quick_dataclass import dataclass

# A rate such as `60/m`: how often something may begin in a second, a minute, an hour or a day.


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_RATE = re.compile(r"([1-9][0-9]{0,8})/([smhd])")
# The spellings of a rate by people: `60`, `60/min`, `60 per minute`, `60rpm`.
_NEARLY = re.compile(
    r"\s*0*(?P<count>[1-9][0-9]{0,8})\s*(?:/|per\b|rp(?=[smhd]))?\s*(?P<unit>[a-z]*)\s*", re.IGNORECASE
)


def written_rate(count: int, seconds: float) -> str:
    """Return how often something may begin as an option has it: `60/m`; other periods in words."""
    unit = next((unit for unit, period in _SECONDS.items() if period == seconds), None)
    return f"{count}/{unit}" if unit else f"{count} in {seconds:,.0f} s"


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` in any `period_s` seconds."""

    count: int
    period_s: int

    def __str__(self) -> str:
        """Return the rate as it is written."""
        return written_rate(self.count, self.period_s)

    @classmethod
    def parse(cls, text: str, option: str = "--rate") -> Rate:
        """Return the rate that a text names.

        Args:
            option: The option with the text, for the message.

        Raises:
            UsageError: The text is not a rate.
        """
        if match := _RATE.fullmatch(text):
            return cls(int(match[1]), _SECONDS[match[2]])
        near = _NEARLY.fullmatch(text)
        unit = near["unit"][:1].lower() if near else ""
        fix = "write a number and s, m, h or d, for example 60/m"
        if near and unit in ("", *_SECONDS):
            fix = f"did you mean {near['count']}/{unit or 'm'}?"
        raise UsageError(f"{option}: {text!r} is not a rate", fix=fix)


class Turns:
    """Lets work begin in order of arrival, within limits; for the tasks of one event loop.

    Args:
        clock: The time that the rate counts.
        at_once: How much may happen at a time; None for no limit.
        rate: How much may begin in a period; None for no limit.
    """

    def __init__(self, clock: Clock, at_once: int | None = None, rate: Rate | None = None) -> None:
        self._clock = clock
        self._rate = rate
        self._arrivals = asyncio.Lock()
        self._places = asyncio.Semaphore(at_once) if at_once is not None else None
        self._began: deque[float] = deque(maxlen=rate.count if rate is not None else 0)

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Wait for a turn, and keep it while the context is open; the value is how many seconds it was waited for."""
        arrived = self._clock.monotonic()
        async with contextlib.AsyncExitStack() as stack:
            async with self._arrivals:
                if self._places is not None:
                    await stack.enter_async_context(self._places)
                await self._until_due()
            yield self._clock.monotonic() - arrived

    async def _until_due(self) -> None:
        """Wait until the rate lets the next one begin, and count it."""
        if self._rate is None:
            return
        while len(self._began) == self._rate.count:
            wait = self._began[0] + self._rate.period_s - self._clock.monotonic()
            if wait <= 0:
                break
            await self._clock.sleep(wait)
        self._began.append(self._clock.monotonic())


@dataclass(frozen=True, slots=True)
class ProviderLimit:
    """How many requests a provider gets at a time, and how many in a period; None for no limit."""

    at_once: int | None = None
    rate: Rate | None = None


class ProviderLimits:
    """The turns of the model requests of all runs of a process, for each provider with a limit.

    Args:
        turns: The turns by the provider's name.
    """

    def __init__(self, turns: Mapping[str, Turns]) -> None:
        self._turns = turns

    @classmethod
    def of(cls, limits: Mapping[str, ProviderLimit], clock: Clock) -> ProviderLimits:
        """Return the turns of limits by the provider's name; `clock` is the time that the rates count."""
        return cls({name: Turns(clock, limit.at_once, limit.rate) for name, limit in limits.items()})

    def turn(self, provider: str) -> AbstractAsyncContextManager[float]:
        """Return the context of one request to a provider; see `Turns.turn`."""
        turns = self._turns.get(provider)
        return turns.turn() if turns is not None else contextlib.nullcontext(0.0)


UNLIMITED = ProviderLimits({})


def read_provider_limits(
    texts: Iterable[str], model_names: Collection[str], option: str = "--limit"
) -> dict[str, ProviderLimit]:
    """Return the limits that texts such as `openai=4` (at a time) and `openai=60/m` name.

    Args:
        texts: The texts; a provider may have one of each kind.
        model_names: The names of the providers that the runs ask.
        option: The option with the texts, for messages.

    Raises:
        UsageError: A text is not a limit, or names no provider of the runs.
    """
    limits: dict[str, ProviderLimit] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not value:
            raise UsageError(f"{option}: {text!r} is not a limit", fix="write PROVIDER=4, or PROVIDER=60/m")
        if name not in model_names:
            listed = f"it asks: {', '.join(model_names)}" if model_names else "it asks no model"
            message = f"{option}: the workflow asks no model of a provider '{name}'"
            raise UsageError(message, fix=suggest(name, model_names, listed))
        before = limits.get(name, ProviderLimit())
        if value.isascii() and value.isdigit() and int(value):
            limits[name] = replace(before, at_once=int(value))
        else:
            limits[name] = replace(before, rate=Rate.parse(value, option))
    return limits
