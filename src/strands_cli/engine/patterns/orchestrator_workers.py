"""Orchestrator and workers: an agent assigns tasks in rounds, workers do them concurrently, the results are joined."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import Job, Outcome
from strands_cli.engine.patterns.read_answers import ReadSchema, as_tasks
from strands_cli.engine.step_results import after, with_unshown
from strands_cli.errors import FileAtFault
from strands_cli.workflow.steps import AgentStep, question_to

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.engine.step_results import StepResult
    from strands_cli.workflow.patterns.orchestrator_workers import OrchestratorConfig, OrchestratorLimits

_TASK = {"type": "object", "properties": {"task": {"type": "string", "minLength": 1}}, "required": ["task"]}
TASKS = ReadSchema({"type": "array", "items": _TASK}, as_tasks)
DEFAULT_ROUNDS = 1
NEXT_ROUND = """

Done so far:
{% for worker in workers %}- {{ worker.task }}: {{ worker.response }}
{% endfor %}
Answer with further tasks, or with an empty list if nothing is left to do."""


async def orchestrator_workers(run: Run, config: OrchestratorConfig) -> dict[str, Any]:
    """Hand out tasks until the orchestrator returns none or the last round is over; then reduce and write up."""
    names: dict[str, Any] = {"workers": [], "num_workers": 0, "subtasks": [], "round_count": 0, "last_response": ""}
    names |= run.unless_inputs(task_count=0, worker_count=0)
    for number in range(1, (config.orchestrator.limits.max_rounds or DEFAULT_ROUNDS) + 1):
        tasks, names = await _hand_out(run, config, number, names)
        if not tasks:
            break
        if number == 1 and config.decomposition_review is not None:
            answer = await run.step("decomposition_review", config.decomposition_review, names)
            names = {**names, **answer.of_person}
        names = await _work(run, config, tasks, names)
    if config.reduce_review is not None:
        names = {**names, **(await run.step("reduce_review", config.reduce_review, names)).of_person}
    if config.reduce is not None:
        result = await run.step("reduce", config.reduce, names, index=1)
        names = {**names, **after(config.reduce, result), "reduce_response": result.response}
    if config.writeup is not None:
        names = {**names, **after(config.writeup, await run.step("writeup", config.writeup, names, index=1))}
    return names


async def _hand_out(
    run: Run, config: OrchestratorConfig, number: int, names: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Ask for the tasks of one round."""
    step, key = config.orchestrator, "orchestrator"
    if number > 1:
        question = question_to(step, run.plan.agents[step.agent].prompt)
        step, key = step.model_copy(update={"input": question + NEXT_ROUND}), f"orchestrator#{number}"
    answer = await run.decide(key, step, TASKS, names)
    tasks = answer.output
    if number == 1 and not tasks:
        run.warn("the orchestrator handed out no task, so no worker runs")
    subtasks = [*names["subtasks"], *tasks]
    _require_few(len(subtasks), key, config.orchestrator.limits)
    rounds = number if tasks else names["round_count"]
    round_names = {"orchestrator_response": answer.response, "subtasks": subtasks, "round_count": rounds}
    return tasks, {**names, **round_names, **run.unless_inputs(task_count=len(subtasks))}


def _require_few(number: int, key: str, limits: OrchestratorLimits) -> None:
    if limits.max_tasks is not None and number > limits.max_tasks:
        raise FileAtFault(
            f"with those of {key} there are {number} tasks; `limits.max_tasks` is {limits.max_tasks}",
            fix="raise it in the orchestrator, or start a new run whose orchestrator hands out fewer",
        )


async def _work(
    run: Run, config: OrchestratorConfig, tasks: list[dict[str, Any]], names: dict[str, Any]
) -> dict[str, Any]:
    """Run one worker for each task, `max_workers` at a time; their numbers continue through all rounds."""
    template, first = config.worker_template, len(names["workers"])
    done: dict[str, StepResult] = {}

    async def perform(number: int, task: str) -> StepResult:
        step = AgentStep(agent=template.agent, input="{{ task }}", tool_overrides=template.tools)
        return await run.step(f"workers.{number}", step, {"task": task}, index=number, remembers=())

    def keep(name: str, outcome: Outcome) -> None:
        done[name] = outcome.value

    jobs = [(str(n), Job(partial(perform, n, task_entry["task"]))) for n, task_entry in enumerate(tasks, first)]
    width = config.orchestrator.limits.max_workers or len(jobs)
    for start in range(0, len(jobs), width):
        await run.jobs(dict(jobs[start : start + width]), keep)
    workers = [
        with_unshown(
            {
                "task": task_entry["task"],
                "response": done[str(n)].response,
                "output": done[str(n)].output,
                "agent": template.agent,
                "status": done[str(n)].status,
                "index": n,
            },
            done[str(n)],
        )
        for n, task_entry in enumerate(tasks, first)
    ]
    all_workers = [*names["workers"], *workers]
    counts = {"num_workers": len(all_workers), **run.unless_inputs(worker_count=len(all_workers))}
    names = {**names, "workers": all_workers, **counts, "last_response": workers[-1]["response"]}
    if config.last_response is not None:
        where = "pattern.config.last_response"
        names["last_response"] = run.step_inputs.render(config.last_response, names, where=where)
    return names
