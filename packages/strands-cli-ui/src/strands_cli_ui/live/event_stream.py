"""One stream of server-sent events: `changed` after a change, however many there were since the last one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from strands_cli_ui.live.change_hub import ChangeHub

# A comment is sent after so many seconds without a change, so that a lost connection is noticed.
IDLE_S = 15.0
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]


@dataclass(frozen=True, slots=True)
class EventStream:
    """A response that lasts as long as its reader; a slow reader gets fewer events, and nothing waits in memory.

    Attributes:
        hub: The polls.
        topic: The run, or the list of runs, that the reader sees.
    """

    hub: ChangeHub
    topic: str

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Send events until the reader or the server ends."""
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        disconnect: asyncio.Future[object] = asyncio.ensure_future(_gone(receive))
        try:
            with self.hub.following(self.topic) as changed:
                if changed is None:
                    await _send(send, "event: full\ndata: \n\n")
                while changed is not None and not disconnect.done() and not self.hub.is_closed:
                    await _send(send, await _next(changed, disconnect))
        finally:
            disconnect.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(changed: asyncio.Event, disconnect: asyncio.Future[object]) -> str:
    """Wait for a change, the end of the reader, or a while."""
    waiting: asyncio.Future[object] = asyncio.ensure_future(changed.wait())
    try:
        await asyncio.wait([waiting, disconnect], timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if not changed.is_set():
        return ": \n\n"
    changed.clear()
    return "event: changed\ndata: \n\n"


async def _gone(receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Callable[[MutableMapping[str, Any]], Awaitable[None]], text: str) -> None:
    with contextlib.suppress(OSError):
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
