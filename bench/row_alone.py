"""Measures what a row of a batch costs without imports, against the same requests of the bare SDK with one client.

Usage: python -m bench.row_alone cpu|memory --pairs N   (BENCH_URL names the model server)

A row is a run of one step with a journal of its own in a folder; all rows share what `app.shared_runs` has. `cpu`
prints the milliseconds of a row and their ratio to a bare loop; `memory` the kilobytes by which the process grows with
each row.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from strands import Agent
from strands.models.openai import OpenAIModel

from bench.measure import spread_of
from strands_cli import app
from strands_cli.agents.shared_runs import SharedRuns
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.run_request import RunRequest

ROWS = 40
AT_ONCE = 4
MANY = 5_000
SYSTEM = "Answer in one line."
FLOW = """version: 1
name: bench-row
runtime: {provider: openai, model_id: bench, host: "%s"}
inputs: {required: {topic: string}}
agents: {one: {prompt: Answer in one line., tools: []}}
pattern: {type: chain, config: {steps: [{agent: one, input: "Say a word about {{ topic }}."}]}}
"""


class NoPerson:
    """A person who is not there; the rows ask nothing."""

    async def ask(self, question: Question) -> Answer:
        """Answer that no person can be asked."""
        return Answer("nobody")


async def in_turns(row: Callable[[int], Awaitable[Any]], numbers: range) -> None:
    """Do the work of each row, some at once."""
    left: Iterator[int] = iter(numbers)

    async def work() -> None:
        for number in left:
            await row(number)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def run_rows(planned: Plan, request: RunRequest, shared: SharedRuns) -> Callable[[int], Awaitable[Any]]:
    """Return what runs one row as a batch does."""

    async def row(number: int) -> None:
        own = app.plan_row(planned, {"topic": f"river {number}"})
        await app.run(own, request, NoPerson(), lambda event: None, shared=shared)

    return row


def bare_rows(url: str) -> Callable[[int], Awaitable[Any]]:
    """Return what asks for one row with the bare SDK."""
    client = AsyncOpenAI(base_url=url, api_key="not-a-key", max_retries=0)
    model = OpenAIModel(client=client, model_id="bench")

    async def row(number: int) -> None:
        agent = Agent(model=model, system_prompt=SYSTEM, tools=[], callback_handler=None)
        await agent.invoke_async(f"Say a word about river {number}.")

    return row


async def cpu_ms(row: Callable[[int], Awaitable[Any]]) -> float:
    """Return the CPU milliseconds of a row in this process, all threads."""
    before = time.process_time()
    await in_turns(row, range(ROWS))
    return (time.process_time() - before) * 1000 / ROWS


def resident_kb() -> float:
    """Return the memory of this process that is in use and not shared with files."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return float(fields["RssAnon"].split()[0])


async def measured(url: str, folder: Path, work: Callable[..., Awaitable[dict[str, Any]]], pairs: int) -> dict[str, Any]:
    """Plan the workflow and do some work with its rows."""
    (folder / "row.yaml").write_text(FLOW % url, encoding="utf-8")
    request = RunRequest(runs_dir=folder / "runs", out_dir=folder / "out", values={"topic": "river"})
    planned = app.plan(folder / "row.yaml", request)
    async with app.shared_runs(planned) as shared:
        return await work(run_rows(planned, request, shared), url, pairs)


async def cpu(row: Callable[[int], Awaitable[Any]], url: str, pairs: int) -> dict[str, Any]:
    """Return the figure of CPU time: of each pair after the first, which fills caches."""
    bare = bare_rows(url)
    costs = [(await cpu_ms(row), await cpu_ms(bare)) for _ in range(pairs + 1)][1:]
    ratios = [ours / theirs for ours, theirs in costs]
    return {
        "ms": statistics.median(ours for ours, _ in costs),
        "ratio": statistics.median(ratios),
        "spread": spread_of(ratios),
    }


async def memory(row: Callable[[int], Awaitable[Any]], url: str, pairs: int) -> dict[str, Any]:
    """Return the figure of memory: kilobytes a row, after the first rows."""
    del url, pairs
    await in_turns(row, range(MANY // 10))
    gc.collect()
    before, began = resident_kb(), time.process_time()
    await in_turns(row, range(MANY // 10, MANY))
    rows = MANY - MANY // 10
    spent = (time.process_time() - began) * 1000 / rows
    gc.collect()
    return {"ms": spent, "mb": (resident_kb() - before) / 1024, "kb": (resident_kb() - before) / rows}


def main(arguments: list[str]) -> int:
    """Print one figure as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.row_alone", description=__doc__)
    parser.add_argument("what", choices=["cpu", "memory"])
    parser.add_argument("--pairs", type=int, default=9)
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("OPENAI_API_KEY", "not-a-key")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        work = cpu if chosen.what == "cpu" else memory
        figure = asyncio.run(measured(os.environ["BENCH_URL"], Path(folder), work, chosen.pairs))
    print(json.dumps(figure))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
