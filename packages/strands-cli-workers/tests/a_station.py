"""A worker for tests, as a program: it takes tickets, prints what happens as JSON lines, and obeys JSON lines."""

import asyncio
import json
import os
import sys
import threading
import time
from typing import Any

from strands_cli.api import Runs, StorePlace
from strands_cli_workers.queue_database import QueueDatabase
from strands_cli_workers.queue_values import Ticket
from strands_cli_workers.station import Station


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


class Obedient:
    """Keeps each dispatch until it shall end it, or ends it at once."""

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self.ends: dict[str, asyncio.Future[Ticket | None]] = {}

    async def dispatch(self, ticket: Ticket) -> Ticket | None:
        ending = self.ends.setdefault(ticket.run_id, asyncio.get_running_loop().create_future())
        say(took=ticket.run_id, attempt=ticket.attempt, now=time.time(), at_once=len(self.ends))
        if self.at_once and not ending.done():
            ending.set_result(None)
        again = await ending
        del self.ends[ticket.run_id]
        return again

    def end(self, run_id: str, again: dict[str, Any] | None) -> None:
        self.ends[run_id].set_result(Ticket.from_dict(again) if again else None)

    async def fire(self, schedule: str, at: float) -> Ticket:
        say(fired=schedule, moment=at)
        return Ticket(f"{schedule}-{at:.0f}", version="1")

    def lost_lock(self, reason: str) -> None:
        say(lost=reason)
        os._exit(1)

    def say(self, line: str) -> None:
        say(logged=line)


async def main() -> None:
    choices = {"name": "w", "queues": ["default"], "concurrency": 4, "version": "1", "at_once": False}
    choices |= json.loads(sys.argv[1])
    address, handler = choices["address"], Obedient(at_once=choices["at_once"])
    names = ("name", "queues", "concurrency", "version")
    with Runs(StorePlace(address=address)) as runs:
        station = Station(QueueDatabase(runs.store), *(choices[name] for name in names))
    station.start(handler)
    say(at=station.id)
    loop, orders = asyncio.get_running_loop(), asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(orders.put_nowait, json.loads(line))
        loop.call_soon_threadsafe(orders.put_nowait, {"close": True})

    threading.Thread(target=read, daemon=True).start()
    while "close" not in (order := await orders.get()):
        if "end" in order:
            handler.end(order["end"], order.get("again"))
        else:
            name = next(iter(order))
            say(to=name, answer=await asyncio.to_thread(getattr(station, name)))
    await asyncio.to_thread(station.close)
    say(closed=True)


asyncio.run(main())
