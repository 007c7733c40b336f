"""Orchestrator and workers: an agent hands out tasks in rounds, workers do them side by side, and the results join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.engine.concurrency import Job
from strands_cli.spec.model import AgentStep

if TYPE_CHECKING:
    from strands_cli.engine.run import Run, StepResult
    from strands_cli.spec.model import OrchestratorConfig

TASKS = {
    "type": "array",
    "items": {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]},
}
DEFAULT_WORKERS, DEFAULT_ROUNDS = 10, 1
NEXT_ROUND = """

These tasks are done:
{% for worker in workers %}
- {{ worker.task }}: {{ worker.response }}
{% endfor %}
Answer with further tasks, or with an empty list if nothing is left to do."""


async def orchestrator_workers(run: Run, config: OrchestratorConfig) -> dict[str, Any]:
    """Hand out tasks until the orchestrator answers none or the rounds are used up; then reduce and write up."""
    names = await work(run, config)
    for key, gate_or_step in (("reduce_review", config.reduce_review), ("reduce", config.reduce), ("writeup", config.writeup)):
        if gate_or_step is None:
            continue
        response = (await run.step(key, gate_or_step, names)).response
        if key == "reduce_review":
            names["hitl_response"] = response
        else:
            names["last_response"] = response
        if key == "reduce":
            names["reduce_response"] = response
    return names


async def work(run: Run, config: OrchestratorConfig) -> dict[str, Any]:
    """Run the rounds and return what the later steps see."""
    limits = config.orchestrator.limits
    names: dict[str, Any] = {"workers": [], "subtasks": [], "round_count": 0, "last_response": ""}
    for round_number in range(1, (limits.max_rounds or DEFAULT_ROUNDS) + 1):
        answer = await run.decide(_key(round_number), _question(run, config, round_number), TASKS, names)
        tasks = answer.output[: limits.max_workers or DEFAULT_WORKERS]
        names |= {"orchestrator_response": answer.response}
        if not tasks:
            break
        names |= {"subtasks": [*names["subtasks"], *tasks], "round_count": round_number}
        if round_number == 1 and config.decomposition_review is not None:
            review = await run.step("decomposition_review", config.decomposition_review, names)
            names["hitl_response"] = review.response
        await _round(run, config, tasks, names)
    return names


def _key(round_number: int) -> str:
    return "orchestrator" if round_number == 1 else f"orchestrator#{round_number}"


def _question(run: Run, config: OrchestratorConfig, round_number: int) -> AgentStep:
    step = config.orchestrator
    if round_number == 1:
        return step
    text = step.input or run.plan.agents[step.agent].prompt
    return step.model_copy(update={"input": text + NEXT_ROUND})


async def _round(run: Run, config: OrchestratorConfig, tasks: list[dict[str, Any]], names: dict[str, Any]) -> None:
    """Let one worker do each task; workers are numbered through all rounds."""
    first = len(names["workers"])
    template = config.worker_template

    async def perform(number: int, task: str) -> StepResult:
        step = AgentStep(agent=template.agent, input="{{ task }}", tool_overrides=template.tools)
        return await run.step(f"workers.{number}", step, {"task": task}, index=number)

    jobs = {
        str(first + offset): Job(lambda offset=offset, task=task: perform(first + offset, task["task"]))
        for offset, task in enumerate(tasks)
    }
    done: dict[str, Any] = {}
    await run.dag(jobs, done)
    results = [done[key] for key in jobs]
    workers = [
        {"task": task["task"], "response": result.response, "output": result.output, "agent": result.agent,
         "status": result.status, "index": result.index}
        for task, result in zip(tasks, results, strict=True)
    ]  # fmt: skip
    names["workers"] = [*names["workers"], *workers]
    names |= {"num_workers": len(names["workers"]), "last_response": workers[-1]["response"]}
