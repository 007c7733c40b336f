"""Works on a run as long as its store lets this process hold it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from strands_cli.engine.ports import StoredJournal
from strands_cli.errors import RunRecordError

Result = TypeVar("Result")


async def while_held(journal: StoredJournal, work: Coroutine[Any, Any, Result]) -> Result:
    """Await work on a run; cancel it when its store asks for that, or when another process may have taken the run over.

    Raises:
        RunRecordError: It was cancelled for that reason.
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    asked = asyncio.Event()

    def stop() -> None:
        asked.set()
        task.cancel()

    def ask() -> None:
        loop.call_soon_threadsafe(stop)

    journal.on_stop(ask)
    try:
        return await task
    except asyncio.CancelledError:
        if not asked.is_set():
            raise
        raise RunRecordError(
            f"this process has stopped its work on the run {journal.run_id}: it was asked to, or lost its hold on it",
            fix="see what became of it: strands runs list",
        ) from None
