"""Parallel: branches side by side, results in the order of the file, then an optional step that joins them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.engine.concurrency import Job

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.spec.model import Branch, ParallelConfig


async def parallel(run: Run, config: ParallelConfig) -> dict[str, Any]:
    """Run all branches, then `reduce` over `branches.<id>.response`."""

    async def perform(branch: Branch) -> dict[str, Any]:
        names = await run.sequence(f"branches.{branch.id}.steps", branch.steps)
        last = names["steps"][-1]
        return {"response": last.response, "output": last.output, "status": "completed", "steps": names["steps"]}

    jobs = {
        branch.id: Job(lambda branch=branch: perform(branch), stop_on_error=branch.on_error == "stop")
        for branch in config.branches
    }
    branches: dict[str, Any] = {}
    await run.dag(jobs, branches)
    responses = [branches[branch.id]["response"] for branch in config.branches]
    names = {"branches": branches, "last_response": "\n\n".join(filter(None, responses))}
    if config.reduce is not None:
        result = await run.step("reduce", config.reduce, names)
        names["last_response"] = result.response
    return names
