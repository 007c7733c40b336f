"""Works on a run as long as its store lets this process hold it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Coroutine
from typing import Any, TypeVar

from strands_cli.engine.ports import StoredJournal
from strands_cli.errors import HoldLost

Result = TypeVar("Result")


async def while_held(journal: StoredJournal, work: Coroutine[Any, Any, Result]) -> Result:
    """Await work on a run; cancel it when its store asks for that, or when another process may have taken the run over.

    Raises:
        HoldLost: It was cancelled for that reason.
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
        shown = shlex.join(["strands", "runs", "show", journal.run_id, *journal.place.words])
        raise HoldLost(
            f"this process has stopped its work on the run {journal.run_id}: it was asked to, or lost its hold on it",
            fix=f"see what became of it: {shown}",
        ) from None
