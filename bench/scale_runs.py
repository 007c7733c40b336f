"""What workers do in the measurements beyond one process, each as a program: ours, raw DBOS, a batch, a bare loop.

Usage: python -m bench.scale_runs raw-worker URL NAME | strands ARGUMENTS... | bare URL ROWS

`strands` is the command with a model in the process, so that only what is around the calls costs anything.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any
from unittest.mock import patch

STEPS, SLOTS, POLL_S = 10, 16, 0.2
SYSTEM = "Answer in one line."
PROMPT = "Say a word about rivers."
QUEUE = "bench"


def flow(steps: int, host: str = "http://127.0.0.1:9/v1") -> str:
    """Return a workflow of so many steps."""
    lines = "\n".join(f'      - {{agent: one, input: "{PROMPT[:-1]} and {{{{ topic }}}}."}}' for _ in range(steps))
    return f"""version: 2
name: bench-scale
runtime: {{provider: openai, model_id: bench, host: "{host}"}}
inputs: {{required: {{topic: string}}}}
agents: {{one: {{prompt: {SYSTEM}, tools: [], memory: step}}}}
pattern:
  type: chain
  config:
    steps:
{lines}
"""


def json_serializer() -> Any:
    """Return what stores values as JSON, as our workers do; only `nox -s bench-scale` has it."""
    return import_module("strands_cli_workers.dbos_setup").JsonSerializer()


def raw_worker(url: str, name: str) -> None:
    """Run plain workflows of DBOS until a line comes: each step is a turn of the SDK's agent, stored as JSON."""
    from dbos import DBOS
    from strands import Agent

    from bench.engine_alone import FixedModel

    config: Any = {
        "name": "bench-scale",
        "system_database_url": url,
        "executor_id": name,
        "application_version": "1",
        "serializer": json_serializer(),
        "log_level": "CRITICAL",
    }
    DBOS(config=config)
    model = FixedModel()

    async def turn(topic: str) -> str:
        agent = Agent(model=model, system_prompt=SYSTEM, tools=[], callback_handler=None)
        return str(await agent.invoke_async(f"{PROMPT[:-1]} and {topic}."))

    step = DBOS.step()(turn)

    async def chain(topic: str) -> str:
        answer = ""
        for _ in range(STEPS):
            answer = await step(topic)
        return answer

    DBOS.workflow(name="chain")(chain)
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=SLOTS, polling_interval_sec=POLL_S)
    print("ready", flush=True)
    sys.stdin.readline()
    DBOS.destroy()


def strands(*arguments: str) -> None:
    """Run the command with a model in this process."""
    from bench.engine_alone import FixedModel
    from strands_cli.agents import assembly as shared_runs
    from strands_cli.cli import main

    sys.argv[1:] = arguments
    with patch.object(shared_runs, "model_of", lambda *_, **__: FixedModel()):
        main()


def bare(url: str, rows: str) -> None:
    """Ask for as many rows as the batch does with the bare SDK, which shares one client."""
    from openai import AsyncOpenAI
    from strands import Agent
    from strands.models.openai import OpenAIModel

    async def work() -> None:
        client = AsyncOpenAI(base_url=url, api_key="not-a-key", max_retries=0)
        model = OpenAIModel(client=client, model_id="bench")
        numbers = iter(range(int(rows)))

        async def in_turn() -> None:
            for number in numbers:
                agent = Agent(model=model, system_prompt=SYSTEM, tools=[], callback_handler=None)
                await agent.invoke_async(f"{PROMPT[:-1]} and river {number}.")

        await asyncio.gather(*(in_turn() for _ in range(4)))

    asyncio.run(work())


PROGRAMS: dict[str, Callable[..., None]] = {
    "raw-worker": raw_worker,
    "strands": strands,
    "bare": bare,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
