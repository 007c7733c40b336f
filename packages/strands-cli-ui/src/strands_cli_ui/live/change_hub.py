"""Notices changes of runs for all tabs together: one poll for each run that a person looks at, none for others."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from strands_cli.api import RunStore, StrandsCliError

# The most streams of events of one process; each takes a connection of a browser.
STREAMS = 64
# The shortest time between two looks, in seconds.
SHORTEST_S = 0.25
# Between two looks passes this many times the cost of one look, or of the pages made after it: 3 % of a CPU.
SHARE = 33


class Changes(Protocol):
    """A run, or the list of runs, under polling."""

    def changed(self) -> bool:
        """Return whether something has changed since the last call."""
        ...


class ChangeHub:
    """The polls of this process, each shared by those who look at the same thing.

    Args:
        look: Returns the poll of a topic: the id of a run, or empty for the list of all runs.
    """

    def __init__(self, look: Callable[[str], Changes]) -> None:
        self._look = look
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._polls: dict[str, asyncio.Task[None]] = {}
        self._costs: dict[str, float] = {}
        # One thread, since a connection to SQLite belongs to the thread that made it.
        self._thread = ThreadPoolExecutor(1, "changes")
        self.is_closed = False

    @contextlib.contextmanager
    def following(self, topic: str) -> Iterator[asyncio.Event | None]:
        """Yield an event that is set after each change until it is cleared; None with too many streams."""
        if sum(map(len, self._waiting.values())) >= STREAMS or self.is_closed:
            yield None
            return
        event = asyncio.Event()
        waiting = self._waiting.setdefault(topic, set())
        waiting.add(event)
        if topic in self._polls:  # it may have changed since the page was made
            event.set()
        else:
            self._polls[topic] = asyncio.get_running_loop().create_task(self._poll(topic))
        try:
            yield event
        finally:
            waiting.discard(event)
            if not waiting:
                self._waiting.pop(topic, None)
                self._costs.pop(topic, None)
                if poll := self._polls.pop(topic, None):
                    poll.cancel()

    def note_cost(self, topic: str, seconds: float) -> None:
        """Take note of the CPU time that one page of a topic took."""
        if topic in self._waiting:
            self._costs[topic] = self._costs.get(topic, 0.0) + seconds

    def close(self) -> None:
        """End all streams and polls."""
        self.is_closed = True
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()
        for poll in self._polls.values():
            poll.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _poll(self, topic: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            changes = await loop.run_in_executor(self._thread, self._look, topic)
            while True:
                is_changed, cost = await loop.run_in_executor(self._thread, _timed, changes)
                if is_changed:
                    self._tell(topic)
                # All pages made since the last change.
                await asyncio.sleep(max(SHORTEST_S, SHARE * max(cost, self._costs.pop(topic, 0.0))))
        except StrandsCliError:  # it has been deleted, or is damaged: the page says so when it is loaded again
            self._tell(topic)

    def _tell(self, topic: str) -> None:
        for event in self._waiting.get(topic, ()):
            event.set()


def _timed(changes: Changes) -> tuple[bool, float]:
    """Return whether something has changed, and the CPU time of the look: on a busy machine it waits for long."""
    begun = time.thread_time()
    return changes.changed(), time.thread_time() - begun


class RunsChanges:
    """Looks at one run of a store, or at every run as the list of runs shows it.

    Args:
        run: The id of a run; empty for the list.
    """

    def __init__(self, store: RunStore, run: str) -> None:
        self._store, self._run = store, run or None
        self._last_state: object = None

    def changed(self) -> bool:
        """Return whether the run has changed, or a run came, went, or has another status; true for the first call.

        Raises:
            RunRecordError: The run does not exist any more, or the store cannot be read.
        """
        state = self._store.state(self._run)
        has_changed, self._last_state = state != self._last_state, state
        return has_changed
