"""Orchestrator and workers: an agent assigns tasks in rounds, workers do them concurrently, the results are joined."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects import Job, Outcome
from strands_cli.engine.step_results import after, question_to
from strands_cli.workflow.steps import AgentStep

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.engine.step_results import StepResult
    from strands_cli.workflow.patterns import OrchestratorConfig

_TASK = {"type": "object", "properties": {"task": {"type": "string", "minLength": 1}}, "required": ["task"]}
TASKS = {"type": "array", "items": _TASK}
DEFAULT_WORKERS, DEFAULT_ROUNDS = 10, 1
NEXT_ROUND = """

Done so far:
{% for worker in workers %}- {{ worker.task }}: {{ worker.response }}
{% endfor %}
Answer with further tasks, or with an empty list if nothing is left to do."""


async def orchestrator_workers(run: Run, config: OrchestratorConfig) -> dict[str, Any]:
    """Hand out tasks until the orchestrator returns none or the last round is over; then reduce and write up."""
    names: dict[str, Any] = {"workers": [], "num_workers": 0, "subtasks": [], "round_count": 0, "last_response": ""}
    for number in range(1, (config.orchestrator.limits.max_rounds or DEFAULT_ROUNDS) + 1):
        tasks, names = await _hand_out(run, config, number, names)
        if not tasks:
            break
        if number == 1 and config.decomposition_review is not None:
            answer = (await run.step("decomposition_review", config.decomposition_review, names)).response
            names = {**names, "hitl_response": answer}
        names = await _work(run, config, tasks, names)
    if config.reduce_review is not None:
        names = {**names, "hitl_response": (await run.step("reduce_review", config.reduce_review, names)).response}
    if config.reduce is not None:
        result = await run.step("reduce", config.reduce, names, index=1)
        names = {**names, **after(config.reduce, result), "reduce_response": result.response}
    if config.writeup is not None:
        names = {**names, **after(config.writeup, await run.step("writeup", config.writeup, names, index=1))}
    return names


async def _hand_out(
    run: Run, config: OrchestratorConfig, number: int, names: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Ask for the tasks of one round; more than `max_workers` are cut off."""
    step, key = config.orchestrator, "orchestrator"
    if number > 1:
        question = question_to(step, run.plan.agents[step.agent].prompt)
        step, key = step.model_copy(update={"input": question + NEXT_ROUND}), f"orchestrator#{number}"
    answer = await run.decide(key, step, TASKS, names)
    tasks = answer.output[: config.orchestrator.limits.max_workers or DEFAULT_WORKERS]
    if len(tasks) < len(answer.output):
        run.warn(f"{key} handed out {len(answer.output)} tasks; only the first {len(tasks)} are done (max_workers)")
    elif number == 1 and not tasks:
        run.warn("the orchestrator handed out no task, so no worker runs")
    subtasks = [*names["subtasks"], *tasks]
    rounds = number if tasks else names["round_count"]
    return tasks, {**names, "orchestrator_response": answer.response, "subtasks": subtasks, "round_count": rounds}


async def _work(
    run: Run, config: OrchestratorConfig, tasks: list[dict[str, Any]], names: dict[str, Any]
) -> dict[str, Any]:
    """Run one worker for each task; the numbers of workers continue through all rounds."""
    template, first = config.worker_template, len(names["workers"])
    done: dict[str, StepResult] = {}

    async def perform(number: int, task: str) -> StepResult:
        step = AgentStep(agent=template.agent, input="{{ task }}", tool_overrides=template.tools)
        return await run.step(f"workers.{number}", step, {"task": task}, index=number, remembers=())

    def keep(name: str, outcome: Outcome) -> None:
        done[name] = outcome.value

    await run.jobs({str(n): Job(partial(perform, n, one["task"])) for n, one in enumerate(tasks, first)}, keep)
    workers = [
        {
            "task": one["task"],
            "response": done[str(n)].response,
            "output": done[str(n)].output,
            "agent": template.agent,
            "status": done[str(n)].status,
            "index": n,
        }
        for n, one in enumerate(tasks, first)
    ]
    joined = [*names["workers"], *workers]
    return {**names, "workers": joined, "num_workers": len(joined), "last_response": workers[-1]["response"]}
