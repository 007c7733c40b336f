"""The workflow: tasks with dependencies, each started as soon as its own are done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.engine.concurrency import Job
from strands_cli.spec.model import GateStep

if TYPE_CHECKING:
    from strands_cli.engine.run import Run, StepResult
    from strands_cli.spec.model import DagConfig, Task


async def workflow(run: Run, config: DagConfig) -> dict[str, Any]:
    """Run every task once; each sees the tasks it depends on, directly or not, as `tasks.<id>`."""
    tasks = {task.id: task for task in config.tasks}
    done: dict[str, StepResult] = {}

    async def perform(task: Task) -> StepResult:
        return await run.step(f"tasks.{task.id}", task, names_for(task, tasks, done))

    jobs = {
        task.id: Job(lambda task=task: perform(task), deps=task.deps, stop_on_error=task.on_error == "stop")
        for task in config.tasks
    }
    await run.dag(jobs, done)
    return {**_gate_answer(config.tasks, done), "tasks": done, "last_response": _last(config, done)}


def names_for(task: Task, tasks: dict[str, Task], done: dict[str, StepResult]) -> dict[str, Any]:
    """Return what a task's templates see: only what it waits for, so that the order of others cannot matter."""
    ancestors: set[str] = set()
    waiting = list(task.deps)
    while waiting:
        name = waiting.pop()
        if name not in ancestors:
            ancestors.add(name)
            waiting += tasks[name].deps
    seen = {name: done[name] for name in tasks if name in ancestors}
    return {**_gate_answer([tasks[name] for name in seen], done), "tasks": seen}


def _gate_answer(tasks: Any, done: dict[str, StepResult]) -> dict[str, Any]:
    answers = [done[task.id].response for task in tasks if isinstance(task, GateStep) and task.id in done]
    return {"hitl_response": answers[-1]} if answers else {}


def _last(config: DagConfig, done: dict[str, StepResult]) -> str:
    """Return the response of the last task of the file that completed."""
    completed = [done[task.id] for task in config.tasks if done[task.id].status == "completed"]
    return completed[-1].response if completed else ""
