"""Run foreign code within its time: exceptions of any kind, and a hang, are returned to the caller."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from strands_cli.errors import RaisedException

# How long to wait at least before the time is looked at again.
SHORTEST_S = 0.01
# How long code that was cancelled may take to put its things in order.
GRACE_S = 1.0


async def bounded(
    start: Callable[[], Awaitable[Any]], seconds: float, elsewhere: Callable[[], float] = lambda: 0.0
) -> Any:
    """Run the awaitable of `start` in a task of its own and return its value, or a `RaisedException`.

    A thread that it waits for cannot be ended; it is left to itself.

    Args:
        elsewhere: Returns how many seconds of it do not count so far.

    Raises:
        TimeoutError: It was not done in time. It is cancelled, and left alone if it does not end.
        asyncio.CancelledError: The caller was cancelled, and so was it.
    """
    task = asyncio.create_task(_contained(start))
    now = asyncio.get_running_loop().time
    began, left = now(), seconds
    try:
        while left > 0 and not task.done():
            await asyncio.wait({task}, timeout=max(left, SHORTEST_S))
            left = seconds + elsewhere() - (now() - began)
        if task.done():
            return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_S)
    raise TimeoutError


async def _contained(start: Callable[[], Awaitable[Any]]) -> Any:
    # SystemExit and KeyboardInterrupt that leave a task end the event loop, so all of them are caught in it.
    try:
        return await start()
    except BaseException as error:  # noqa: BLE001 - foreign code may raise anything
        return RaisedException(error)
