"""The values of queues and workers: tickets, schedules, limits, choices, and the numbers of both."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# The name that the journals of submitted runs have for it.
OWNER = "workers"
NAME_A_STORE = "name a store: --store postgresql://USER@HOST/DATABASE, or STRANDS_STORE"
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
        refusals: Why workers have refused the run, the newest last: their words, by their name.
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
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Ticket:
        """Return the ticket of JSON values; names that a later version adds are left out."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})


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


@dataclass(frozen=True, slots=True)
class WorkerChoices:
    """How a worker works.

    Attributes:
        name: For people; two workers may have one name.
        folder: A folder that its runs share; None gives each its own.
        policy: A policy file that takes the place of the one beside a workflow.
        drains: Whether it ends when its queues are empty.
        drain_timeout_s: How long the runs that it works on may take when it is asked to end.
        health_file: A file that is written again and again while the worker is well.
        connect_timeout_s: How long the store may be unreachable until the worker ends.
        frozen_after_s: After how long without a sign of its event loop others take its runs over.
        takes_approvals: Whether approvals where a run was submitted (`--yes`, `--allow`) count here.
    """

    name: str
    queues: tuple[str, ...]
    concurrency: int
    folder: Path | None = None
    policy: Path | None = None
    drains: bool = False
    drain_timeout_s: float = 30.0
    health_file: Path | None = None
    connect_timeout_s: float = 300.0
    frozen_after_s: float = 120.0
    takes_approvals: bool = True
