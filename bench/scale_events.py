"""Simulates runs on workers and Postgres servers, event by event.

Runs arrive at random. A worker looks into its queue from time to time and takes as many runs as it has slots for. A
model call takes CPU of its worker, waits for the commit of its start, waits for the provider, waits for the commit of
its end, and takes CPU again. All rows that wait in a worker go to Postgres as one group, one group at a time; Postgres
takes CPU for a group, and one flush of the log serves all groups that wait for it.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.scale_model import ROWS_PER_CALL, Costs, Deployment, Load

ROWS_PER_WAIT = ROWS_PER_CALL // 2


@dataclass(frozen=True)
class Outcome:
    """What was seen between the end of the warm-up and the end of the simulation.

    Attributes:
        finished: Runs that ended in a second.
        calls: Model calls that ended in a second.
        present: Runs in the system on average, those in a queue included.
        working: Runs that a worker works on, on average.
        stay: Seconds from arrival to end, on average over the runs that arrived in the time.
        busy: The share of the time in which each kind of part works, on average over the parts of its kind; the disk
            only while it takes bytes, since a flush takes its time with few of them too.
        group: Rows that Postgres gets at once, on average.
    """

    finished: float
    calls: float
    present: float
    working: float
    stay: float
    busy: dict[str, float]
    group: float


@dataclass(slots=True)
class Run:
    """One run: calls that are still to be made, when it arrived, and the worker that has it."""

    left: int
    arrived: float
    worker: Worker


@dataclass(slots=True)
class Worker:
    """A process: free slots, the time until which its core is taken, and the rows that wait for the next group."""

    server: Server
    queue: deque[Run]
    free: int
    core: float = 0.0
    waiting: list[tuple[Callable[[Run], None], Run]] = field(default_factory=list)
    sending: bool = False


@dataclass(slots=True)
class Server:
    """A Postgres: when each core is free again, the groups that wait for a flush, and its queues of runs."""

    cores: list[float]
    queues: list[deque[Run]]
    gates: list[float]
    groups: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
    flushing: bool = False


class Simulation:
    """One simulation; `outcome()` runs it."""

    def __init__(self, costs: Costs, load: Load, at: Deployment, seed: int = 1) -> None:
        self.costs, self.load, self.at = costs, load, at
        self.now = 0.0
        self.events: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self.number = 0
        self.random = random.Random(seed)
        self.servers = [
            Server([0.0] * at.cores, [deque() for _ in range(at.queues)], [0.0] * at.queues) for _ in range(at.servers)
        ]
        self.workers = [self._worker(number) for number in range(at.connected(costs))]
        self.provider = 0.0
        self.counts = dict.fromkeys(("finished", "calls", "rows", "groups", "stays"), 0)
        self.spent = dict.fromkeys(("worker CPU", "Postgres CPU", "Postgres disk"), 0.0)
        self.stays = 0.0
        self.levels = {"present": 0, "working": 0}
        self.areas = {"present": 0.0, "working": 0.0}
        self.changed = 0.0
        self.measured_from = 0.0

    def outcome(self, seconds: float, warm_up: float) -> Outcome:
        """Simulate so many seconds after the warm-up, in which nothing is counted."""
        self._begin()
        self._until(warm_up)
        self._count_from_here()
        self._until(warm_up + seconds)
        self._level("present", 0)
        booked = self._booked()
        counts = self.counts
        busy = {name: (spent - booked.get(name, 0.0)) / seconds for name, spent in self.spent.items()}
        return Outcome(
            finished=counts["finished"] / seconds,
            calls=counts["calls"] / seconds,
            present=self.areas["present"] / seconds,
            working=self.areas["working"] / seconds,
            stay=self.stays / max(1, counts["stays"]),
            busy={
                "worker CPU": busy["worker CPU"] / len(self.workers),
                "Postgres CPU": busy["Postgres CPU"] / (self.at.servers * self.at.cores),
                "Postgres disk": busy["Postgres disk"] / self.at.servers,
                "slots": self.areas["working"] / seconds / (len(self.workers) * self.at.slots),
            },
            group=counts["rows"] / max(1, counts["groups"]),
        )

    def _begin(self) -> None:
        """Start as a system that has worked for long: with runs in flight, each somewhere in its calls."""
        for number in range(min(round(self.load.runs), len(self.workers) * self.at.slots)):
            worker = self.workers[number % len(self.workers)]
            run = Run(self.random.randrange(self.load.calls) + 1, -1.0, worker)
            worker.free -= 1
            self._level("present", 1)
            self._level("working", 1)
            self._at(self._latency(), self._answered, run)
        for worker in self.workers:
            self._at(self.random.random() * self.at.poll_s, self._poll, worker)
        self._at(self._gap(), self._arrive, None)

    def _until(self, end: float) -> None:
        events = self.events
        while events and events[0][0] <= end:
            self.now, _, act, subject = heapq.heappop(events)
            act(subject)
        self.now = end

    def _count_from_here(self) -> None:
        self._level("present", 0)
        self.counts = dict.fromkeys(self.counts, 0)
        self.spent = {"Postgres disk": 0.0, **self._booked()}
        self.areas = dict.fromkeys(self.areas, 0.0)
        self.stays, self.measured_from = 0.0, self.now

    def _booked(self) -> dict[str, float]:
        """Return the CPU seconds that are taken already, and will be spent later."""
        workers = (worker.core for worker in self.workers)
        servers = (core for server in self.servers for core in server.cores)
        return {
            "worker CPU": sum(max(0.0, core - self.now) for core in workers),
            "Postgres CPU": sum(max(0.0, core - self.now) for core in servers),
        }

    def _worker(self, number: int) -> Worker:
        server = self.servers[number % self.at.servers]
        return Worker(server, server.queues[number // self.at.servers % self.at.queues], self.at.slots)

    def _at(self, delay: float, act: Callable[[Any], None], subject: Any) -> None:
        self.number += 1
        heapq.heappush(self.events, (self.now + delay, self.number, act, subject))

    def _level(self, name: str, change: int) -> None:
        """Change how many runs are present or worked on, and add up what was until now."""
        passed = self.now - self.changed
        if passed:
            for each, level in self.levels.items():
                self.areas[each] += level * passed
            self.changed = self.now
        self.levels[name] += change

    def _gap(self) -> float:
        return -math.log(1 - self.random.random()) / self.load.arrivals

    def _latency(self) -> float:
        return -math.log(1 - self.random.random()) * self.load.latency

    # The way of a run.

    def _arrive(self, _: None) -> None:
        """Submit a run, to the server that the hash of its id chooses and one of its queues."""
        server = self.servers[self.random.randrange(self.at.servers)]
        place = self.random.randrange(self.at.queues)
        self._level("present", 1)
        server.queues[place].append(Run(self.load.calls, self.now, self.workers[0]))
        self._at(self._gap(), self._arrive, None)

    def _poll(self, worker: Worker) -> None:
        """Take runs from the queue, as many as there are slots; one queue gives only so many a second."""
        server, queue = worker.server, worker.queue
        gate = next(place for place, each in enumerate(server.queues) if each is queue)
        served = self._serve(server, self.costs.poll_cpu)
        while worker.free and queue:
            run = queue.popleft()
            run.worker = worker
            worker.free -= 1
            self._level("working", 1)
            server.gates[gate] = max(server.gates[gate], self.now) + 1 / self.costs.dispatched
            served = max(self._serve(server, self.costs.served_run_cpu), server.gates[gate])
            self._at(served - self.now, self._dispatched, run)
        pause = self.at.poll_s * (0.95 + self.random.random() / 10)
        self._at(served - self.now + pause, self._poll, worker)

    def _dispatched(self, run: Run) -> None:
        self._group(run.worker.server, self.costs.run_commits, lambda: self._work(run, self.costs.run_cpu, self._call))

    def _call(self, run: Run) -> None:
        """Begin a call: its CPU before the request, then its start becomes durable."""
        self._work(run, self.costs.call_cpu / 2, self._start_written)

    def _start_written(self, run: Run) -> None:
        self._write(run, self._ask)

    def _ask(self, run: Run) -> None:
        """Ask the provider, which admits requests at its rate."""
        wait = 0.0
        if self.load.per_minute:
            self.provider = max(self.provider, self.now) + 60 / self.load.per_minute
            wait = self.provider - self.now
        self._at(wait + self._latency(), self._answered, run)

    def _answered(self, run: Run) -> None:
        self._work(run, self.costs.call_cpu / 2, self._end_written)

    def _end_written(self, run: Run) -> None:
        self._write(run, self._ended)

    def _ended(self, run: Run) -> None:
        """End a call, and the run after its last one."""
        self.counts["calls"] += 1
        run.left -= 1
        if run.left > 0:
            self._call(run)
            return
        self.counts["finished"] += 1
        self._level("present", -1)
        self._level("working", -1)
        run.worker.free += 1
        if run.arrived >= self.measured_from:
            self.counts["stays"] += 1
            self.stays += self.now - run.arrived

    # The parts.

    def _work(self, run: Run, seconds: float, then: Callable[[Run], None]) -> None:
        """Take CPU of the run's worker, after all that takes it already."""
        worker = run.worker
        worker.core = max(worker.core, self.now) + seconds
        self.spent["worker CPU"] += seconds
        self._at(worker.core - self.now, then, run)

    def _serve(self, server: Server, seconds: float) -> float:
        """Take CPU of a server on the core that is free first; return when it has been taken."""
        core = min(range(len(server.cores)), key=server.cores.__getitem__)
        server.cores[core] = max(server.cores[core], self.now) + seconds
        self.spent["Postgres CPU"] += seconds
        return server.cores[core]

    def _write(self, run: Run, then: Callable[[Run], None]) -> None:
        """Have rows of a run written; it goes on when they are durable."""
        worker = run.worker
        worker.waiting.append((then, run))
        if not worker.sending:
            self._send(worker)

    def _send(self, worker: Worker) -> None:
        """Send all rows that wait as one group; the next one goes when this one is durable."""
        group, worker.waiting = worker.waiting, []
        worker.sending = True
        rows = ROWS_PER_WAIT * len(group)
        cpu = self.costs.group_cpu + rows * self.costs.row_cpu
        worker.core = max(worker.core, self.now) + cpu
        self.spent["worker CPU"] += cpu
        self.counts["rows"] += rows
        self.counts["groups"] += 1
        served = self._serve(worker.server, self.costs.served_group_cpu + rows * self.costs.served_row_cpu)

        def durable() -> None:
            worker.sending = False
            for then, run in group:
                then(run)
            if worker.waiting and not worker.sending:
                self._send(worker)

        self._at(served - self.now, lambda _: self._group(worker.server, rows, durable), None)

    def _group(self, server: Server, rows: float, durable: Callable[[], None]) -> None:
        """Wait for a flush of the log that has all of a group's rows."""
        server.groups.append((round(rows), durable))
        if not server.flushing:
            self._flush(server)

    def _flush(self, server: Server) -> None:
        groups, server.groups = server.groups, []
        server.flushing = True
        written = sum(rows for rows, _ in groups) * self.costs.row_bytes / self.costs.disk
        seconds = max(self.costs.flush, written)
        self.spent["Postgres disk"] += written

        def flushed(_: None) -> None:
            server.flushing = False
            for _rows, durable in groups:
                durable()
            if server.groups and not server.flushing:
                self._flush(server)

        self._at(seconds, flushed, None)


def simulate(costs: Costs, load: Load, at: Deployment, *, seconds: float, warm_up: float, seed: int = 1) -> Outcome:
    """Simulate a load on a deployment."""
    return Simulation(costs, load, at, seed).outcome(seconds, warm_up)
