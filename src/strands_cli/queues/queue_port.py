"""Queues of runs: the values and protocols of an engine that dispatches stored runs to the workers of a store."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.store_place import StorePlace

DEFAULT_QUEUE = "default"
# A smaller number goes first.
DEFAULT_PRIORITY = 100


@dataclass(frozen=True, slots=True)
class Ticket:
    """A run that waits in a queue.

    Attributes:
        queue: The name of the queue.
        priority: From 1 on; a smaller number goes first.
        version: The format of the run's journal: only workers of this version take the ticket.
        at: Not before, in seconds since the epoch; None is now.
        attempt: Tells the tickets of one run apart; 0 lets the queue count on.
        returns: How often workers have given it back.
        refusals: Why workers have refused the run, the newest last: what they say, by their name.
    """

    run_id: str
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    version: str = ""
    at: float | None = None
    attempt: int = 0
    returns: int = 0
    refusals: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Ticket:
        """Return the ticket of JSON values; names that a later version adds are left out."""
        known = {one.name for one in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


@dataclass(frozen=True, slots=True)
class Schedule:
    """Runs that start again and again: each firing copies the run that was stored as its pattern.

    Attributes:
        name: The id of the stored run.
        cron: Five fields, or six with seconds first.
        timezone: A name of the IANA database.
        last_fired: The newest firing, as ISO 8601; empty before the first.
    """

    name: str
    cron: str
    timezone: str = "UTC"
    last_fired: str = ""


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How many runs of a queue all workers together may work on, and start in a time; None limits nothing."""

    concurrency: int | None = None
    rate: int | None = None
    rate_s: float | None = None


@dataclass(frozen=True, slots=True)
class QueueState:
    """One queue in numbers.

    Attributes:
        waiting: Runs that a worker may take now.
        running: Runs that workers have taken.
        delayed: Runs that wait for their time, or for another worker after a refusal.
        oldest_s: The age of the oldest that waits.
        versions: How many wait for workers of which version.
    """

    name: str
    limits: QueueLimits
    waiting: int = 0
    running: int = 0
    delayed: int = 0
    oldest_s: float | None = None
    versions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkerState:
    """One worker.

    Attributes:
        id: Unique; two workers of one name have two.
        since: In seconds since the epoch.
        is_held: Whether its process still holds its lock.
        runs: The ids of the runs that it has taken.
        beat_s: How long ago its event loop has shown that it works.
        frozen_after_s: After how long without that others take its runs over; None if they do not.
    """

    id: str
    name: str
    machine: str
    pid: int
    queues: tuple[str, ...]
    concurrency: int
    version: str
    since: float
    is_held: bool
    is_draining: bool
    runs: tuple[str, ...] = ()
    beat_s: float = 0.0
    frozen_after_s: float | None = None

    @property
    def is_frozen(self) -> bool:
        """Whether it holds its lock and does not work, so that others take its runs over."""
        return self.is_held and self.frozen_after_s is not None and self.beat_s > self.frozen_after_s

    @property
    def is_alive(self) -> bool:
        """Whether it works: its process holds its lock, and its event loop turns."""
        return self.is_held and not self.is_frozen


class RunQueue(Protocol):
    """The queues of one store. All methods raise `RunRecordError` where the store cannot be reached."""

    def put(self, ticket: Ticket) -> None:
        """Let a run wait in its queue; a ticket with the attempt of another one of the run changes nothing."""

    def take_out(self, run_id: str) -> bool:
        """Remove all tickets of a run, and return whether there was one."""

    def live(self, run_ids: Collection[str]) -> set[str]:
        """Return which of these runs have a ticket that waits, or that a worker has taken."""

    def limit(self, queue: str, limits: QueueLimits) -> None:
        """Set the limits of a queue, for all its workers."""

    def states(self) -> list[QueueState]:
        """Return every queue in numbers, by name."""

    def refused(self, most: int) -> list[Ticket]:
        """Return tickets that wait after a refusal, the newest first."""

    def workers(self) -> list[WorkerState]:
        """Return every worker that holds its lock or has left runs behind, the oldest first."""

    def schedule(self, schedule: Schedule) -> None:
        """Fire again and again from now on; a schedule of this name is replaced.

        Raises:
            UsageError: The times or the time zone are not valid.
        """

    def unschedule(self, name: str) -> bool:
        """Remove a schedule, and return whether there was one."""

    def schedules(self) -> list[Schedule]:
        """Return every schedule, by name."""

    def close(self) -> None:
        """Release what it holds open."""


class Handler(Protocol):
    """What a station calls, in the event loop that it was started in."""

    async def dispatch(self, ticket: Ticket) -> Ticket | None:
        """Work on a run, and return the ticket with which it waits again; None if it does not."""

    async def fire(self, schedule: str, at: float) -> Ticket | None:
        """Make the run of one firing of a schedule, and return its ticket; the same firing is the same run."""

    def lost_lock(self, reason: str) -> None:
        """End the worker: it no longer holds its lock, so that others may take its runs. Called from any thread."""

    def say(self, line: str) -> None:
        """Take a line about the queue itself for the log, from any thread."""


class Station(Protocol):
    """The place of one worker at its queues.

    Attributes:
        id: The id of the worker: unique, and locked in the store until the station is closed.
    """

    id: str

    def start(self, handler: Handler, frozen_after_s: float | None = None) -> None:
        """Take tickets from now on, as many at once as the worker may; called in its event loop.

        Args:
            frozen_after_s: After how long without a `beat` others take its runs over; None never.
        """

    def beat(self) -> None:
        """Note that the event loop works; others see it within some seconds. It waits for nothing."""

    def recover(self) -> list[str]:
        """Let the runs of workers that are gone, or frozen, wait again, and return them; for a thread."""

    def pending(self) -> int:
        """Return how many tickets this worker could take now, or has taken; for a thread."""

    def has_turn(self, work: str, every_s: float) -> bool:
        """Return whether no worker of the store has had the turn for some work in so many seconds; for a thread."""

    def tidy(self) -> None:
        """Remove what the queue stores of tickets that are done; for a thread."""

    def pause(self) -> None:
        """Take no more tickets."""

    def close(self) -> None:
        """Wait until what was taken has ended, and give up the lock; for a thread."""


class Engine(Protocol):
    """What an entry point of the group `strands_cli.engines` names; its name is the scheme of the stores' addresses.

    `address` is the whole address of the store, references to secrets resolved: it must not appear in any message.
    """

    def open(self, place: StorePlace, address: str) -> RunQueue:
        """Open the queues of a store.

        Raises:
            RunRecordError: The store cannot be reached, or has no queues yet.
        """

    def init(self, place: StorePlace, address: str) -> list[str]:
        """Create what the queues need, or bring it to this version; return what was done, one line each."""

    def check(self, place: StorePlace, address: str) -> list[str]:
        """Return the facts of queues that work, one line each; raise as `open` where they do not."""

    def station(
        self, place: StorePlace, address: str, name: str, queues: Sequence[str], concurrency: int, version: str
    ) -> Station:
        """Open the place of a worker at these queues, and lock its id.

        Raises:
            RunRecordError: The store cannot be reached, or has no queues yet.
        """
