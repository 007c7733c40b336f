"""Processes that ask one model as fast as they may: `python -m tests.fakes.many_callers HOST PROCESSES LANES SECONDS`.

Each is forked after the imports, and goes on with runs of one step until its time is over. Printed are the failed runs.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from strands_cli import app
from strands_cli.agents.assembly import SharedRuns
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import StrandsCliError
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest

TEXT = """
version: 2
name: caller
runtime: {{provider: openai, model_id: m, host: '{host}', failure_policy: {{retries: 5, wait_min: 0.05, wait_max: 70}}}}
agents: {{a: {{prompt: p}}}}
pattern: {{type: chain, config: {{steps: [{{agent: a, input: Hi}}]}}}}
"""


async def _lane(plan: Plan, shared: SharedRuns, folder: Path, name: str, until: float) -> int:
    """Run again and again; return how many runs failed."""
    failed = number = 0
    request = RunRequest(runs_dir=folder, out_dir=folder / "out")
    while time.monotonic() < until:
        number += 1
        try:
            run = app.run(plan, request, StandaloneRun(), lambda event: None, run_id=f"{name}-{number}", shared=shared)
            await run
        except StrandsCliError as error:
            print(error, file=sys.stderr)
            failed += 1
    return failed


async def _lanes(plan: Plan, folder: Path, process: int, lanes: int, until: float) -> int:
    async with app.shared_runs(plan) as shared:
        names = [f"{process}-{lane}" for lane in range(lanes)]
        return sum(await asyncio.gather(*(_lane(plan, shared, folder, name, until) for name in names)))


def main(host: str, processes: int, lanes: int, seconds: float) -> int:
    """Fork the processes, and return how many runs of all failed."""
    import openai.resources.chat  # noqa: F401 - before the fork
    import strands.models.openai  # noqa: F401

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = Settings(folder)
        plan = app.plan("caller.yaml", text=TEXT.format(host=host), catalog=discover_catalog([]), settings=settings)
        until, children = time.monotonic() + seconds, []
        for process in range(processes):
            if not (child := os.fork()):
                os._exit(min(asyncio.run(_lanes(plan, folder, process, lanes, until)), 100))
            children.append(child)
        return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
