"""What runs ask of each part of a deployment, and the most that each part can give: bounds that need no simulation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parent / "scale_figures.json"
# A step and its model call: a row each when they start, and the same rows when they have ended.
ROWS_PER_CALL = 4
# The journal of a run: it is created, begins, and ends.
ROWS_PER_RUN = 3


@dataclass(frozen=True)
class Costs:
    """The measured figures, in seconds, bytes and counts; a group is what one connection commits at once.

    Attributes:
        call_cpu: CPU of a worker for a model call: agent, engine, client of the provider.
        row_cpu: CPU of a worker for a row; `group_cpu` comes once for each group.
        served_row_cpu: CPU of Postgres for a row; `served_group_cpu` comes once for each group.
        flush: How long the disk takes for one flush of the log, which serves all groups that wait for it.
        row_bytes: The log that a row writes; `disk` takes so many bytes a second.
        run_cpu: CPU of a worker to take a run from the queue, to plan and close it; `served_run_cpu` that of Postgres,
            with its submission.
        run_commits: Commits for a run in the queue, its submission included.
        poll_cpu: CPU of Postgres for one look of one worker into one queue.
        dispatched: The most runs a second that were taken from one queue.
        connections: Connections of one worker to its Postgres.
    """

    call_cpu: float
    row_cpu: float
    group_cpu: float
    served_row_cpu: float
    served_group_cpu: float
    flush: float
    row_bytes: float
    disk: float
    run_cpu: float
    served_run_cpu: float
    run_commits: float
    poll_cpu: float
    dispatched: float
    connections: float

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> Costs:
        """Return the costs from the file of the calibration."""
        row, group = _line(figures["client_cpu_per_row_s"])
        served_row, served_group = _line(figures["server_cpu_per_row_s"])
        queue = figures["dispatch"]["2 workers, 1 queues"]
        return cls(
            call_cpu=figures["worker_cpu_per_call_s"],
            row_cpu=row,
            group_cpu=group,
            served_row_cpu=served_row,
            served_group_cpu=served_group,
            flush=figures["flush_s"],
            row_bytes=figures["log_bytes_per_row"],
            disk=figures["disk_bytes_per_s"],
            run_cpu=figures["worker_cpu_per_whole_run_s"],
            served_run_cpu=queue["server_cpu_per_run_s"] + queue["server_cpu_per_enqueue_s"],
            run_commits=queue["commits_per_run"] + 1,
            poll_cpu=queue["server_cpu_per_poll_s"],
            dispatched=queue["dispatched_per_s"],
            connections=queue["connections_per_worker"],
        )


def measured() -> Costs:
    """Return the costs that are kept in the clone."""
    return Costs.of(json.loads(FIGURES.read_text(encoding="utf-8")))


def _line(by_size: Mapping[str, float]) -> tuple[float, float]:
    """Return the cost of a row and of a group, from the cost of a row in groups of one and in the largest."""
    largest = max(by_size, key=int)
    size = int(largest)
    group = (by_size["1"] - by_size[largest]) * size / (size - 1)
    return by_size["1"] - group, group


@dataclass(frozen=True)
class Load:
    """What is asked of a deployment.

    Attributes:
        runs: How many runs would be in flight if nothing limited them; with `run_s` this is the arrival rate.
        calls: Model calls of a run, one after another.
        latency: Seconds of a model call, on average.
        per_minute: Requests a minute that the provider admits; 0 for no limit.
    """

    runs: float
    calls: int = 10
    latency: float = 3.0
    per_minute: float = 0

    @property
    def run_s(self) -> float:
        """The seconds that a run takes where only the model takes time."""
        return self.calls * self.latency

    @property
    def arrivals(self) -> float:
        """Runs that arrive in a second."""
        return self.runs / self.run_s


@dataclass(frozen=True)
class Deployment:
    """Workers, each a process with a core, and Postgres servers, each with its share of runs, workers and queues.

    Attributes:
        slots: Runs that a worker works on at once.
        queues: Queues on each server; each worker takes runs from one of them.
        cores: Cores of each Postgres server.
        max_connections: Connections that each Postgres server admits.
        poll_s: Seconds between two looks of a worker into a queue.
    """

    workers: int = 1
    slots: int = 100
    servers: int = 1
    queues: int = 1
    cores: int = 2
    max_connections: int = 100
    poll_s: float = 1.0

    def connected(self, costs: Costs) -> int:
        """Return how many workers find a connection."""
        return min(self.workers, self.servers * int(self.max_connections // costs.connections))


def part_of(load: Load, at: Deployment) -> tuple[Load, Deployment]:
    """Return one Postgres with its share of the runs, the workers and the provider: the others are as this one."""
    share = replace(load, runs=load.runs / at.servers, per_minute=load.per_minute / at.servers)
    return share, replace(at, workers=at.workers // at.servers, servers=1)


def bounds(costs: Costs, load: Load, at: Deployment) -> dict[str, float]:
    """Return the most runs a second that each part can give, whatever the others do.

    A bound is never too low: groups of rows are as large as they can be, and nothing waits for anything else.
    """
    workers = at.connected(costs)
    rows = ROWS_PER_CALL * load.calls + ROWS_PER_RUN
    found = {
        "slots": workers * at.slots / load.run_s,
        "worker CPU": workers / (load.calls * costs.call_cpu + rows * costs.row_cpu + costs.run_cpu),
        "Postgres CPU": at.servers * at.cores / (rows * costs.served_row_cpu + costs.served_run_cpu),
        "Postgres disk": at.servers * costs.disk / (rows * costs.row_bytes),
        "queue": at.servers * at.queues * costs.dispatched,
    }
    if load.per_minute:
        found["provider"] = load.per_minute / 60 / load.calls
    return found


def usage(costs: Costs, load: Load, at: Deployment) -> dict[str, float]:
    """Return which share of each part the load needs; above 1 the part is a limit.

    Connections are those of all workers, and the CPU of Postgres has their looks into the queues too.
    """
    needed = {name: load.arrivals / most for name, most in bounds(costs, load, at).items()}
    needed["Postgres CPU"] += at.connected(costs) * costs.poll_cpu / at.poll_s / (at.servers * at.cores)
    return {**needed, "connections": at.workers * costs.connections / (at.servers * at.max_connections)}
