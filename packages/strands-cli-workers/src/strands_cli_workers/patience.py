"""Waits for a store that does not answer now: longer each time, until a limit."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from strands_cli.api import Unreachable

Result = TypeVar("Result")
# The first pause and the longest one; each has up to half of it added, so that workers do not come together.
FIRST_S, MOST_S = 0.5, 10.0


def pauses(limit_s: float) -> Iterator[float]:
    """Yield how long to wait before each new trial, until so many seconds have passed."""
    end, pause = time.monotonic() + limit_s, FIRST_S
    while (left := end - time.monotonic()) > 0:
        yield min(left, pause * (1 + random.random() / 2))  # noqa: S311 - no secret
        pause = min(2 * pause, MOST_S)


class Patience:
    """Takes the errors of an unreachable store, and returns how long to wait; the first time it tells that."""

    def __init__(self, limit_s: float, tell: Callable[[str], None]) -> None:
        """Begin to wait.

        Args:
            limit_s: How long the store may be unreachable.
            tell: Takes a line when waiting begins.
        """
        self._limit_s, self._pauses = limit_s, pauses(limit_s)
        self._tell: Callable[[str], None] | None = tell

    def pause_after(self, error: Unreachable) -> float:
        """Return how long to wait before the next trial.

        Raises:
            Unreachable: The time is over.
        """
        pause = next(self._pauses, None)
        if pause is None:
            raise error
        if self._tell is not None:
            self._tell(trial_words(error, self._limit_s))
            self._tell = None
        return pause


def reached(open_it: Callable[[], Result], limit_s: float, tell: Callable[[str], None]) -> Result:
    """Return the opened object as soon as its store can be reached; see `patiently`."""
    patience = Patience(limit_s, tell)
    while True:
        try:
            return open_it()
        except Unreachable as error:
            pause = patience.pause_after(error)
        time.sleep(pause)


def trial_words(error: Unreachable, limit_s: float) -> str:
    """Return the line about a store under another trial."""
    return f"{error.message}; it is tried again for {limit_s:.0f} seconds"


async def patiently(
    open_it: Callable[[], Result], limit_s: float, tell: Callable[[str], None], ended: asyncio.Event | None = None
) -> Result | None:
    """Return the opened object as soon as its store can be reached; None if the work has `ended` before.

    Args:
        open_it: Opens it; it is called in a thread.
        limit_s: How long the store may be unreachable.
        tell: Takes a line when waiting begins.

    Raises:
        Unreachable: The store was not reached until then.
    """
    patience = Patience(limit_s, tell)
    never = asyncio.Event()
    while True:
        try:
            return await asyncio.to_thread(open_it)
        except Unreachable as error:
            pause = patience.pause_after(error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for((ended or never).wait(), pause)
            return None
