"""The workflow: tasks with dependencies, each started as soon as these are done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import Job, Outcome
from strands_cli.engine.step_results import StepResult
from strands_cli.workflow.graph_paths import leading_to_each, reached
from strands_cli.workflow.steps import GateStep

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.workflow.patterns.workflow import DagConfig, Task


async def workflow(run: Run, config: DagConfig) -> dict[str, Any]:
    """Run every task once; each sees the tasks it depends on, directly or not, as `tasks.<id>`."""
    tasks = {task.id: task for task in config.tasks}
    deps = {task.id: task.deps for task in config.tasks}
    places = {name: position for position, name in enumerate(tasks)}
    waits_for = _numbers_before(deps)
    done: dict[str, StepResult] = {}

    async def perform(task: Task) -> StepResult:
        names = names_for(task, tasks, deps, places, done)
        before = [f"tasks.{name}" for name in sorted(reached(task.id, deps), key=waits_for.__getitem__)]
        keep_failure = task.on_error == "continue"
        return await run.step(f"tasks.{task.id}", task, names, keep_failure=keep_failure, remembers=before)

    def keep(name: str, outcome: Outcome) -> None:
        failed = StepResult(outcome.error, status=outcome.status)
        done[name] = outcome.value or run.step_inputs.in_words(failed, tasks[name])

    jobs = {
        task.id: Job(partial(perform, task), deps=task.deps, stop_on_error=task.on_error == "stop")
        for task in config.tasks
    }
    await run.jobs(jobs, keep)
    results = {name: done[name] for name in tasks}
    completed = [result for result in results.values() if result.status == "completed"]
    last = completed[-1].response if completed else ""
    return {**gate_answer(config.tasks, results), "tasks": results, "last_response": last}


def _numbers_before(deps: Mapping[str, Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Return how many tasks each waits for, and its place in the file: in this order each follows those."""
    then: dict[str, list[str]] = {name: [] for name in deps}
    for name, before in deps.items():
        for other in before:
            then[other].append(name)
    counts = {name: before.bit_count() for name, before in leading_to_each(then)}
    return {name: (counts[name], position) for position, name in enumerate(deps)}


def names_for(
    task: Task,
    tasks: Mapping[str, Task],
    deps: Mapping[str, Sequence[str]],
    places: Mapping[str, int],
    done: Mapping[str, StepResult],
) -> dict[str, Any]:
    """Return the names for a task's templates: only those it waits for, whichever other tasks are faster."""
    results_before = {name: done[name] for name in sorted(reached(task.id, deps), key=places.__getitem__)}
    return {**gate_answer((tasks[name] for name in results_before), results_before), "tasks": results_before}


def gate_answer(tasks: Iterable[Task], done: Mapping[str, StepResult]) -> dict[str, Any]:
    """Return the names of the answer of the last gate of the file among these tasks, if there is one."""
    answers = [done[task.id].of_person for task in tasks if isinstance(task, GateStep)]
    return answers[-1] if answers else {}
