"""Works on a run as long as its store lets this process hold it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Coroutine
from typing import Any, TypeVar

from strands_cli.engine.ports.store_port import StoredJournal
from strands_cli.errors import HoldLost, RunRecordError

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
        raise await _reason(journal) from None


async def _reason(journal: StoredJournal) -> HoldLost:
    """Return why work on a run was stopped: a store that is lost refuses to store anything of it."""
    try:
        await journal.store()
    except RunRecordError as error:
        return HoldLost(error.message, fix=(error.fix or "").replace("resume RUN", f"resume {journal.run_id}"))
    shown = shlex.join(["strands", "runs", "show", journal.run_id, *journal.place.words])
    asked = HoldLost(f"a person has stopped the run {journal.run_id} elsewhere", fix=f"see what became of it: {shown}")
    asked.is_asked = True
    return asked
