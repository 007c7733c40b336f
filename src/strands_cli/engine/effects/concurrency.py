"""Jobs with dependencies that run side by side; each completes, fails or waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from strands_cli.engine.effects.effect import NeedsDecision
from strands_cli.errors import RunFailed, WaitingForPerson


@dataclass(frozen=True, slots=True)
class Job:
    """Work that starts when the jobs it depends on are done; `stop_on_error` ends all others with it."""

    work: Callable[[], Awaitable[Any]]
    deps: tuple[str, ...] = ()
    stop_on_error: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: its value, or the error."""

    status: Literal["completed", "failed", "skipped"]
    value: Any = None
    error: str = ""


@dataclass(slots=True)
class _Board:
    """Which jobs have not begun, run, have ended, and wait for a person."""

    jobs: Mapping[str, Job]
    report: Callable[[str, Outcome], None]
    order: dict[str, int] = field(init=False)
    missing: dict[str, set[str]] = field(init=False)
    followers: dict[str, list[str]] = field(init=False)
    ended: dict[str, Outcome] = field(default_factory=dict)
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
        """Start jobs whose dependencies have ended; skip those that depend on a failure, directly or not."""
        waiting = list(names)
        while waiting:
            name = waiting.pop(0)
            job = self.jobs[name]
            if all(self.ended[dep].status == "completed" for dep in job.deps):
                task = asyncio.ensure_future(job.work())
                self.running[task] = name
                task.add_done_callback(self.finished.put_nowait)
            else:
                waiting += self.end(name, Outcome("skipped"))

    def end(self, name: str, outcome: Outcome) -> list[str]:
        """Record the end of a job; return the jobs that waited for it alone."""
        self.ended[name] = outcome
        self.report(name, outcome)
        for follower in self.followers[name]:
            self.missing[follower].discard(name)
        return [follower for follower in self.followers[name] if not self.missing[follower]]

    def take(self, task: asyncio.Future[Any]) -> list[str]:
        """Record the end of a task, and return the jobs that may start; raise an error that stops all jobs."""
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
        """Wait until tasks have finished; return them in the order of the file."""
        tasks = [await self.finished.get()]
        while not self.finished.empty():
            tasks.append(self.finished.get_nowait())
        return sorted(tasks, key=lambda task: self.order[self.running[task]])


async def run_jobs(jobs: Mapping[str, Job], report: Callable[[str, Outcome], None]) -> None:
    """Run jobs, each as soon as its dependencies are done.

    A job that fails without stopping the others is `failed`, and those that depend on it are `skipped`. While a job
    waits for a person, the others continue as far as they can.

    Args:
        jobs: The jobs by name; their dependencies are names of others.
        report: Called with each job's outcome, before a job that depends on it starts.

    Raises:
        WaitingForPerson: A job waits, and no other job can continue.
        StrandsCliError: The first error of a job that stops the others; they are cancelled and can be resumed.
    """
    if len(jobs) == 1:
        # Nothing runs beside it, so it needs no task of its own.
        [(name, job)] = jobs.items()
        report(name, await _outcome_of(job))
        return
    board = _Board(jobs, report)
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
        raise combined([board.waiting[name] for name in jobs if name in board.waiting])


async def _outcome_of(job: Job) -> Outcome:
    """Do the work of a job; raise the error that stops all jobs."""
    try:
        return Outcome("completed", await job.work())
    except RunFailed as error:
        if job.stop_on_error:
            raise
        return Outcome("failed", error=error.message)


def combined(waiting: list[WaitingForPerson]) -> WaitingForPerson:
    """Return one error for all questions; one that needs a decision decides its type."""
    first = next((error for error in waiting if isinstance(error, NeedsDecision)), waiting[0])
    if len(waiting) == 1:
        return first
    others = [error.message for error in waiting if error is not first]
    return type(first)("; ".join([first.message, *others]), fix=first.fix)
