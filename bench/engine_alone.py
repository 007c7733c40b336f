"""Measures the engine without imports: a chain of agents with its journal on, against the same calls on the bare SDK.

Usage: python -m bench.engine_alone client|shared-client|in-process --pairs N   (BENCH_URL names the model server)

`client` goes through the real `openai` client to a server on loopback, as a script on the SDK does; with
`shared-client` the script also keeps one client for all its requests, as a run does, so that only the engine differs.
`in-process` asks a model that answers at once, and prints what a journaled effect (a step, or a model call) costs more
than the bare SDK; the reference is two commits of as many bytes to a bare SQLite database in the same mode, since an
effect is written down before it starts and when it has ended.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from openai import AsyncOpenAI
from strands import Agent
from strands.models import Model
from strands.models.openai import OpenAIModel

from bench.measure import collect_as_the_command_does, spread_of
from strands_cli import app
from strands_cli.agents import assembly as shared_runs
from strands_cli.config import read_settings
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.planning.run_request import RunRequest

STEPS = 12
TURNS = 6  # rounds of each kind in a pair: one takes a tenth of a second, and moves with the machine's other work
COMMITS = 20  # of each row, since one takes less than the clock's step
EFFECTS = 2 * STEPS  # a row for each step and one for its model call
PROMPT = "Say a word about rivers."
SYSTEM = "Answer in one line."
HEADER = f"""version: 2
name: bench
runtime: {{provider: openai, model_id: bench, host: "%s"}}
agents:
  one: {{prompt: {SYSTEM}, tools: []}}
pattern:
  type: chain
  config:
    steps:
"""


class FixedModel(Model):
    """Streams one short answer at once, so that only the loop around it costs anything."""

    def update_config(self, **model_config: Any) -> None:
        """Have no configuration."""

    def get_config(self) -> dict[str, Any]:
        """Return an empty configuration."""
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: nothing here asks for structured output."""
        raise NotImplementedError

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream an answer with its usage, as a provider does."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Rivers bend."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {
            "metadata": {"usage": {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12}, "metrics": {"latencyMs": 1}}
        }


class NoPerson:
    """A person who is not there; the chain asks nothing."""

    async def ask(self, question: Question) -> Answer:
        """Answer that no person can be asked."""
        return Answer("nobody")


def sdk_model(url: str) -> Model:
    """Return the SDK's own model for the server on loopback; it makes a client for each request."""
    return OpenAIModel(client_args={"base_url": url, "api_key": "not-a-key", "max_retries": 0}, model_id="bench")


def sdk_model_with_one_client(url: str) -> Model:
    """Return the same model with one client for all requests, which saves its 20 ms a request."""
    return OpenAIModel(client=AsyncOpenAI(base_url=url, api_key="not-a-key", max_retries=0), model_id="bench")


async def raw_round(make: Callable[[], Model]) -> None:
    """Make the calls of the chain with the bare SDK: one model, a fresh agent for each step."""
    model = make()
    for _ in range(STEPS):
        await Agent(model=model, system_prompt=SYSTEM, tools=[], callback_handler=None).invoke_async(PROMPT)


async def cpu_ms(work: Callable[[], Awaitable[Any]]) -> float:
    """Return the CPU milliseconds of this process, all threads, that some work takes."""
    before = time.process_time()
    await work()
    return (time.process_time() - before) * 1000


def commit_ms(folder: Path) -> float:
    """Return the CPU milliseconds of one bare commit of what the journal of the newest run holds for an effect."""
    (newest, *_) = sorted((folder / "runs").glob("*/journal.sqlite"), key=lambda path: path.stat().st_mtime)[::-1]
    with contextlib.closing(sqlite3.connect(newest)) as journal:
        rows = journal.execute("SELECT * FROM effects").fetchall()
    with contextlib.closing(sqlite3.connect(folder / "bare.sqlite", isolation_level=None)) as bare:
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = NORMAL")
        bare.execute("DROP TABLE IF EXISTS effects")
        bare.execute(f"CREATE TABLE effects ({', '.join(f'c{number}' for number in range(len(rows[0])))})")
        insert = f"INSERT INTO effects VALUES ({', '.join('?' * len(rows[0]))})"
        before = time.process_time()
        for _ in range(COMMITS):
            for row in rows:
                bare.execute(insert, row)
        return (time.process_time() - before) * 1000 / (COMMITS * len(rows))


async def rounds(url: str, make: Callable[[], Model], pairs: int, folder: Path) -> list[tuple[float, float, float]]:
    """Return the mean cost of a run, of the raw calls and of a commit, for each pair after one not counted."""
    path = folder / "bench.yaml"
    path.write_text(HEADER % url + STEPS * f'      - {{agent: one, input: "{PROMPT}"}}\n', encoding="utf-8")
    options = RunRequest(runs_dir=folder / "runs", out_dir=folder / "out")
    settings = read_settings(runs_dir=folder / "runs")
    planned = app.plan(path, options, settings=settings)

    async def run_round() -> None:
        await app.run(planned, replace(options, runs_dir=settings.runs_dir), NoPerson(), lambda event: None)

    async def pair() -> tuple[float, float, float]:
        turns = [(await cpu_ms(run_round), await cpu_ms(partial(raw_round, make))) for _ in range(TURNS)]
        run, raw = (statistics.mean(costs) for costs in zip(*turns, strict=True))
        return run, raw, commit_ms(folder)

    return [await pair() for _ in range(pairs + 1)][1:]


REFERENCES = {"client": sdk_model, "shared-client": sdk_model_with_one_client}


def main(arguments: list[str]) -> int:
    """Print one figure as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine_alone", description=__doc__)
    parser.add_argument("model", choices=["in-process", *REFERENCES])
    parser.add_argument("--pairs", type=int, default=9)
    chosen = parser.parse_args(arguments)
    collect_as_the_command_does()
    os.environ.setdefault("OPENAI_API_KEY", "not-a-key")
    url = os.environ["BENCH_URL"]
    in_process = chosen.model == "in-process"
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if in_process:
            # Where a run's models are built; an official way would be a provider that no other program needs.
            stack.enter_context(patch.object(shared_runs, "model_of", lambda *_, **__: FixedModel()))
        make = FixedModel if in_process else partial(REFERENCES[chosen.model], url)
        costs = asyncio.run(rounds(url, make, chosen.pairs, Path(folder)))
    if in_process:
        spent = [(run - raw) / EFFECTS for run, raw, _ in costs]
        ratios = [effect / (2 * commit) for effect, (_, _, commit) in zip(spent, costs, strict=True)]
    else:
        spent, ratios = [run for run, _, _ in costs], [run / raw for run, raw, _ in costs]
    figure = {"ms": statistics.median(spent), "ratio": statistics.median(ratios), "spread": spread_of(ratios)}
    print(json.dumps(figure))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
