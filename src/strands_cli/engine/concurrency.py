"""Jobs with dependencies, run side by side: results by name, one way to fail, one way to wait for people."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from strands_cli.engine.run import StepResult
from strands_cli.errors import RunFailed, WaitingForPerson


@dataclass(frozen=True, slots=True)
class Job:
    """Work that starts when the jobs it depends on are done; `stop_on_error` ends all others with it."""

    work: Callable[[], Awaitable[Any]]
    deps: tuple[str, ...] = ()
    stop_on_error: bool = True


async def run_jobs(jobs: Mapping[str, Job], done: dict[str, Any]) -> None:
    """Run jobs, each as soon as its dependencies are done; results go to `done` in the order of `jobs`.

    A job that fails without stopping the others gives a result with status `failed`, and those that depend on it
    `skipped`. A job that waits for a person lets the others go on as far as they can.

    Raises:
        WaitingForPerson: when nothing else can go on.
        StrandsCliError: the first error of a job that stops the others; they are cancelled and can be resumed.
    """
    outcome: dict[str, Any] = {}
    running: dict[asyncio.Task[Any], str] = {}
    waiting: list[WaitingForPerson] = []
    left = dict(jobs)

    def start_ready() -> None:
        for name, job in list(left.items()):
            if all(dep in outcome for dep in job.deps):
                del left[name]
                if all(outcome[dep].status == "completed" for dep in job.deps if isinstance(outcome[dep], StepResult)):
                    running[asyncio.ensure_future(job.work())] = name
                else:
                    outcome[name] = StepResult("", "", status="skipped")
                    start_ready()
                    return

    start_ready()
    try:
        while running:
            finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                name = running.pop(task)
                try:
                    outcome[name] = task.result()
                except WaitingForPerson as error:
                    waiting.append(error)
                except RunFailed as error:
                    if jobs[name].stop_on_error:
                        raise
                    outcome[name] = StepResult(error.message, "", status="failed")
            start_ready()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    if waiting:
        raise waiting[0]
    done.update({name: outcome[name] for name in jobs})
