"""A reader that stops reading: changes do not pile up for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import MutableMapping
from typing import Any

import pytest

from strands_cli_ui.live.change_hub import ChangeHub
from strands_cli_ui.live.event_stream import EventStream

pytestmark = pytest.mark.hostile
LOOKS = 4
SECONDS = 60


class Changing:
    """Something that has changed at each look."""

    def __init__(self) -> None:
        self.looks = 0
        self.has_changed_often = threading.Event()

    def changed(self) -> bool:
        self.looks += 1
        if self.looks >= LOOKS:
            self.has_changed_often.set()
        return True


async def _follow_slowly() -> list[int]:
    """Return how often was looked when each of the first three events was taken."""
    changing = Changing()
    hub = ChangeHub(lambda topic: changing)
    reads_again, has_read = asyncio.Event(), asyncio.Event()
    read_at: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        await has_read.wait()
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        if b"event: changed" in message.get("body", b""):
            read_at.append(changing.looks)
            await reads_again.wait()
            if len(read_at) == 3:
                has_read.set()

    stream = asyncio.ensure_future(EventStream(hub, "run")({}, receive, send))
    assert await asyncio.to_thread(changing.has_changed_often.wait, SECONDS)
    assert len(read_at) == 1
    reads_again.set()
    await asyncio.wait_for(has_read.wait(), SECONDS)
    hub.close()
    await asyncio.wait_for(stream, SECONDS)
    return read_at[:3]


def test_of_many_changes_a_slow_reader_gets_one_event() -> None:
    first, second, third = asyncio.run(_follow_slowly())
    assert first < LOOKS <= second < third
