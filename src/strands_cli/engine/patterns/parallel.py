"""Parallel: branches side by side, results in the order of the file, then an optional step that joins them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import Job, Outcome
from strands_cli.engine.step_inputs import keys_in
from strands_cli.engine.step_results import StepResult, after, with_unshown

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.workflow.patterns.parallel import Branch, ParallelConfig


async def parallel(run: Run, config: ParallelConfig) -> dict[str, Any]:
    """Run all branches, then `reduce` over `branches.<id>.response`."""
    done: dict[str, dict[str, Any]] = {}
    last = {branch.id: branch.steps[-1] for branch in config.branches}

    async def perform(branch: Branch) -> dict[str, Any]:
        keep_failure = branch.on_error == "continue"
        prefix = f"branches.{branch.id}.steps"
        steps = (await run.sequence(prefix, branch.steps, keep_failure=keep_failure, apart=True))["steps"]
        status = "completed" if steps[-1].status == "failed" else steps[-1].status
        names = {"response": steps[-1].response, "output": steps[-1].output, "status": status, "steps": steps}
        return with_unshown(names, steps[-1])

    def keep(name: str, outcome: Outcome) -> None:
        failed: dict[str, Any] = {"response": outcome.error, "output": None, "status": outcome.status, "steps": []}
        result = run.step_inputs.in_words(StepResult(outcome.error), last[name])
        done[name] = outcome.value or with_unshown(failed, result)

    jobs = {
        branch.id: Job(partial(perform, branch), stop_on_error=branch.on_error == "stop") for branch in config.branches
    }
    await run.jobs(jobs, keep)
    branches = {branch.id: done[branch.id] for branch in config.branches}
    completed = [result["response"] for result in branches.values() if result["status"] == "completed"]
    names: dict[str, Any] = {"branches": branches, "last_response": "\n\n".join(completed)}
    if config.last_response is not None:
        where = "pattern.config.last_response"
        names["last_response"] = run.step_inputs.render(config.last_response, {"branches": branches}, where=where)
    if config.reduce is not None:
        before = [key for branch in config.branches for key in keys_in(f"branches.{branch.id}.steps", branch.steps)]
        result = await run.step("reduce", config.reduce, names, index=1, remembers=before)
        names = {**names, **after(config.reduce, result)}
    return names
