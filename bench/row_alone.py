"""Measures what one of many runs costs without imports, against the same requests of the bare SDK with one client.

Usage: python -m bench.row_alone paragraph|word --pairs N   (BENCH_URL names the model server)

A row is a run of one step with a journal of its own in a folder; all rows share what `app.shared_runs` has. The server
echoes: `paragraph` prints the milliseconds of a row whose answer has 800 characters, and their ratio to a bare loop;
`word` those of short answers. The row of `bench-scale` measures the whole command in the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
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

from bench.measure import collect_as_the_command_does, spread_of
from strands_cli import app
from strands_cli.agents.assembly import SharedRuns
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.planning.row_planner import RowPlanner
from strands_cli.planning.run_request import RunRequest

ROWS = 24
AT_ONCE = 4
PARAGRAPH = "A river bends where the ground lets it. " * 20
SYSTEM = "Answer in one line."
FLOW = """version: 2
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


def run_rows(rows: RowPlanner, request: RunRequest, shared: SharedRuns, text: str) -> Callable[[int], Awaitable[Any]]:
    """Return what runs one row as a batch does."""

    async def row(number: int) -> None:
        own = rows.plan({"topic": f"{number}. {text}"})
        await app.run(own, request, NoPerson(), lambda event: None, shared=shared)

    return row


def bare_rows(url: str, text: str) -> Callable[[int], Awaitable[Any]]:
    """Return what asks for one row with the bare SDK."""
    client = AsyncOpenAI(base_url=url, api_key="not-a-key", max_retries=0)
    model = OpenAIModel(client=client, model_id="bench")

    async def row(number: int) -> None:
        agent = Agent(model=model, system_prompt=SYSTEM, tools=[], callback_handler=None)
        await agent.invoke_async(f"Say a word about {number}. {text}.")

    return row


async def cpu_ms(row: Callable[[int], Awaitable[Any]]) -> float:
    """Return the CPU milliseconds of a row in this process, all threads."""
    before = time.process_time()
    await in_turns(row, range(ROWS))
    return (time.process_time() - before) * 1000 / ROWS


async def cpu(
    row: Callable[[int], Awaitable[Any]], bare: Callable[[int], Awaitable[Any]], pairs: int
) -> dict[str, Any]:
    """Return the figure of CPU time: of each pair after the first, which fills caches."""
    costs = [(await cpu_ms(row), await cpu_ms(bare)) for _ in range(pairs + 1)][1:]
    ratios = [ours / theirs for ours, theirs in costs]
    ms = statistics.median(ours for ours, _ in costs)
    return {"ms": ms, "ratio": statistics.median(ratios), "spread": spread_of(ratios)}


async def measured(url: str, folder: Path, what: str, pairs: int) -> dict[str, Any]:
    """Plan the workflow, run its rows, and return a figure."""
    (folder / "row.yaml").write_text(FLOW % url, encoding="utf-8")
    request = RunRequest(runs_dir=folder / "runs", out_dir=folder / "out", values={"topic": "river"})
    rows = app.plan_rows(folder / "row.yaml", request)
    text = PARAGRAPH if what == "paragraph" else "river"
    async with app.shared_runs(rows.planned) as shared:
        row = run_rows(rows, request, shared, text)
        return await cpu(row, bare_rows(url, text), pairs)


def main(arguments: list[str]) -> int:
    """Print one figure as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.row_alone", description=__doc__)
    parser.add_argument("what", choices=["paragraph", "word"])
    parser.add_argument("--pairs", type=int, default=9)
    chosen = parser.parse_args(arguments)
    collect_as_the_command_does()
    os.environ.setdefault("OPENAI_API_KEY", "not-a-key")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, contextlib.chdir(folder):
        figure = asyncio.run(measured(os.environ["BENCH_URL"], Path(folder), chosen.what, chosen.pairs))
    print(json.dumps(figure))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
