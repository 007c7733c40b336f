"""Jobs with dependencies, run side by side: one way to succeed, one to fail, one to wait for people."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
    """Which jobs are left, running, over and waiting."""

    jobs: Mapping[str, Job]
    tell: Callable[[str, Outcome], None]
    left: dict[str, Job] = field(init=False)
    over: dict[str, Outcome] = field(default_factory=dict)
    running: dict[asyncio.Task[Any], str] = field(default_factory=dict)
    waiting: list[WaitingForPerson] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = dict(self.jobs)

    def start_ready(self) -> None:
        """Start every job whose dependencies are over; skip those that depend on a failure, and so on down."""
        ready = [name for name, job in self.left.items() if all(dep in self.over for dep in job.deps)]
        for name in ready:
            job = self.left.pop(name)
            if all(self.over[dep].status == "completed" for dep in job.deps):
                self.running[asyncio.ensure_future(job.work())] = name
            else:
                self.end(name, Outcome("skipped"))
        if ready and not self.running:
            self.start_ready()

    def end(self, name: str, outcome: Outcome) -> None:
        """Note that a job is over."""
        self.over[name] = outcome
        self.tell(name, outcome)

    def take(self, task: asyncio.Task[Any]) -> None:
        """Take what a finished task brought; raise what must stop the others."""
        name = self.running.pop(task)
        try:
            self.end(name, Outcome("completed", task.result()))
        except WaitingForPerson as error:
            self.waiting.append(error)
        except RunFailed as error:
            if self.jobs[name].stop_on_error:
                raise
            self.end(name, Outcome("failed", error=error.message))


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
    board.start_ready()
    try:
        while board.running:
            finished, _ = await asyncio.wait(board.running, return_when=asyncio.FIRST_COMPLETED)
            # The set has no order: with two failures at once the first of the file is the one that is raised.
            for task in sorted(finished, key=lambda task: list(jobs).index(board.running[task])):
                board.take(task)
            board.start_ready()
    finally:
        for task in board.running:
            task.cancel()
        await asyncio.gather(*board.running, return_exceptions=True)
    if board.waiting:
        raise board.waiting[0]
