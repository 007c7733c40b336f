"""Jobs with dependencies, run side by side: one way to succeed, one to fail, one to wait for people."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from strands_cli.engine.effects import NeedsDecision
from strands_cli.errors import RunFailed, WaitingForPerson


@dataclass(frozen=True, slots=True)
class Job:
    """Work that starts when the jobs it depends on are done; `stop_on_error` ends all others with it."""

    work: Callable[[], Awaitable[Any]]
    deps: tuple[str, ...] = ()
    stop_on_error: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: its value, or why there is none."""

    status: Literal["completed", "failed", "skipped"]
    value: Any = None
    error: str = ""


@dataclass(slots=True)
class _Board:
    """Which jobs wait for others, are running, over, and wait for people."""

    jobs: Mapping[str, Job]
    tell: Callable[[str, Outcome], None]
    order: dict[str, int] = field(init=False)
    missing: dict[str, set[str]] = field(init=False)
    followers: dict[str, list[str]] = field(init=False)
    over: dict[str, Outcome] = field(default_factory=dict)
    running: dict[asyncio.Future[Any], str] = field(default_factory=dict)
    finished: asyncio.Queue[asyncio.Future[Any]] = field(default_factory=asyncio.Queue)
    waiting: dict[str, WaitingForPerson] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = {name: place for place, name in enumerate(self.jobs)}
        self.missing = {name: set(job.deps) for name, job in self.jobs.items()}
        self.followers = {name: [] for name in self.jobs}
        for name, job in self.jobs.items():
            for dep in set(job.deps):
                self.followers[dep].append(name)

    def start(self, names: list[str]) -> None:
        """Start jobs whose dependencies are over; skip those that depend on a failure, and so on down."""
        waiting = list(names)
        while waiting:
            name = waiting.pop(0)
            job = self.jobs[name]
            if all(self.over[dep].status == "completed" for dep in job.deps):
                task = asyncio.ensure_future(job.work())
                self.running[task] = name
                task.add_done_callback(self.finished.put_nowait)
            else:
                waiting += self.end(name, Outcome("skipped"))

    def end(self, name: str, outcome: Outcome) -> list[str]:
        """Note that a job is over; return those that need not wait any longer."""
        self.over[name] = outcome
        self.tell(name, outcome)
        for follower in self.followers[name]:
            self.missing[follower].discard(name)
        return [follower for follower in self.followers[name] if not self.missing[follower]]

    def take(self, task: asyncio.Future[Any]) -> list[str]:
        """Take what a finished task brought, and return what may start now; raise what must stop the others."""
        name = self.running.pop(task)
        try:
            return self.end(name, Outcome("completed", task.result()))
        except WaitingForPerson as error:
            self.waiting[name] = error
            return []
        except RunFailed as error:
            if self.jobs[name].stop_on_error:
                raise
            return self.end(name, Outcome("failed", error=error.message))

    async def next_finished(self) -> list[asyncio.Future[Any]]:
        """Wait until a task has finished; of several at once the first of the file comes first."""
        tasks = [await self.finished.get()]
        while not self.finished.empty():
            tasks.append(self.finished.get_nowait())
        return sorted(tasks, key=lambda task: self.order[self.running[task]])


async def run_jobs(jobs: Mapping[str, Job], tell: Callable[[str, Outcome], None]) -> None:
    """Run jobs, each as soon as its dependencies are done.

    A job that fails without stopping the others is `failed`, and those that depend on it `skipped`. A job that waits
    for a person lets the others go on as far as they can.

    Args:
        jobs: The jobs by name; their dependencies are names of others.
        tell: Called with each job's outcome, before a job that depends on it starts.

    Raises:
        WaitingForPerson: when nothing else can go on.
        StrandsCliError: the first error of a job that stops the others; they are cancelled and can be resumed.
    """
    board = _Board(jobs, tell)
    board.start([name for name, job in jobs.items() if not job.deps])
    try:
        while board.running:
            for task in await board.next_finished():
                board.start(board.take(task))
    finally:
        for task in board.running:
            task.cancel()
        await asyncio.gather(*board.running, return_exceptions=True)
    if board.waiting:
        raise joined([board.waiting[name] for name in jobs if name in board.waiting])


def joined(waiting: list[WaitingForPerson]) -> WaitingForPerson:
    """Return one error for all questions; a decision on what may have happened comes before any other."""
    first = next((error for error in waiting if isinstance(error, NeedsDecision)), waiting[0])
    if len(waiting) == 1:
        return first
    others = [error.message for error in waiting if error is not first]
    return type(first)("; ".join([first.message, *others]), fix=first.fix)
