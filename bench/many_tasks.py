"""Measures independent tasks side by side: real agents over a model that takes 50 ms, 100 at once.

Usage: python -m bench.many_tasks TASKS --pairs N

Prints the wall time and its ratio to the same agents on the bare SDK: making and running an agent costs the SDK more
than 1 ms of CPU, so that 1,000 of them take longer than the 0.5 s in which the model alone would have answered.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from strands import Agent

from bench.engine_alone import SYSTEM, FixedModel, NoPerson
from bench.measure import collect_as_the_command_does
from strands_cli import app
from strands_cli.agents import assembly as shared_runs
from strands_cli.config import read_settings
from strands_cli.planning.run_request import RunRequest

AT_ONCE = 100
LATENCY_S = 0.05
HEADER = f"""version: 2
name: bench-many
runtime: {{provider: openai, model_id: bench, max_parallel: {AT_ONCE}}}
agents:
  one: {{prompt: {SYSTEM}, tools: []}}
pattern:
  type: workflow
  config:
    tasks:
"""


class SlowModel(FixedModel):
    """Answers after a while, as a server does."""

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Wait, then stream an answer."""
        await asyncio.sleep(LATENCY_S)
        async for event in super().stream(*args, **kwargs):
            yield event


async def seconds_of(tasks: int, folder: Path) -> float:
    """Return the wall time of a run of so many tasks, with everything imported before."""
    path = folder / f"many-{tasks}.yaml"
    path.write_text(HEADER + "".join(f"      - {{id: t{n}, agent: one, input: w{n}}}\n" for n in range(tasks)), "utf-8")
    options, settings = RunRequest(runs_dir=folder / "runs", out_dir=folder), read_settings(runs_dir=folder / "runs")
    planned = app.plan(path, options, settings=settings)
    gc.collect()  # a run of the command begins without what an earlier one has left
    started = time.perf_counter()
    result = await app.run(planned, replace(options, runs_dir=settings.runs_dir), NoPerson(), lambda event: None)
    if result.model_calls != tasks:
        raise RuntimeError(f"{result.model_calls} of {tasks} tasks were done")
    return time.perf_counter() - started


async def raw_seconds_of(tasks: int) -> float:
    """Return the wall time of the same agents on the bare SDK."""
    model, slots = SlowModel(), asyncio.Semaphore(AT_ONCE)

    async def perform(number: int) -> None:
        async with slots:
            agent = Agent(model=model, system_prompt=SYSTEM, tools=[], callback_handler=None)
            await agent.invoke_async(f"w{number}")

    gc.collect()
    started = time.perf_counter()
    await asyncio.gather(*(perform(number) for number in range(tasks)))
    return time.perf_counter() - started


async def measure(tasks: int, pairs: int, folder: Path) -> list[tuple[float, float]]:
    """Return both times, pair by pair, after short runs that import everything."""
    await seconds_of(3, folder), await raw_seconds_of(3)
    return [(await seconds_of(tasks, folder), await raw_seconds_of(tasks)) for _ in range(pairs)]


def main(arguments: list[str]) -> int:
    """Print one figure as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.many_tasks", description=__doc__)
    parser.add_argument("tasks", type=int)
    parser.add_argument("--pairs", type=int, default=9)
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("OPENAI_API_KEY", "not-a-key")
    collect_as_the_command_does()
    with tempfile.TemporaryDirectory() as folder, patch.object(shared_runs, "model_of", lambda *_, **__: SlowModel()):
        times = asyncio.run(measure(chosen.tasks, chosen.pairs, Path(folder)))
    figure = {"ms": statistics.median(t for t, _ in times) * 1000, "ratio": statistics.median(a / b for a, b in times)}
    print(json.dumps(figure))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
