"""Many runs with a model that fails at random: none fails, and no answer that was received is asked for again.

`FAILING_RUNS=200` runs more of them than the session does.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import RunResult
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.planning.run_request import RunRequest
from tests.agents.kit import Site
from tests.fakes.model_server import ModelServer, Turn

pytestmark = [pytest.mark.hostile, pytest.mark.usefixtures("echo_and_key")]
RUNS, LANES, STEPS, KILLED = int(os.environ.get("FAILING_RUNS", "30")), 10, 3, 2
FLOW = """
version: 2
name: night
runtime:
  models:
    - {{provider: openai, model_id: first, host: '{first}', options: {{client_args: {{timeout: 0.5, max_retries: 0}}}}}}
    - {{provider: openai, model_id: second, host: '{second}'}}
  failure_policy: {{retries: 1, wait_min: 0, wait_max: 0.01}}
inputs: {{required: {{run: string}}}}
agents: {{a: {{prompt: be brief, tools: [native:echo]}}}}
pattern: {{type: chain, config: {{steps: [{steps}]}}}}
"""
BAD = [
    *(Turn(status=status) for status in (500, 502, 503, 529, 429, 408)),
    Turn(status=429, headers={"retry-after": "600"}),
    Turn("half of an answer that is cut", drop_after_chunks=3),
    Turn("nothing of it comes", drop_after_chunks=0),
    Turn("late", delay_s=60),
]


class Night:
    """Two models: one fails at random, the other one never; both call a tool first. Their whole answers are counted."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.answered: Counter[str] = Counter()
        self.failed = 0
        self.left_until_full = 0
        self.is_full = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> Turn:
        with self._lock:
            self.left_until_full -= 1
            if not self.left_until_full:
                self.is_full.set()
            if request["model"] == "first" and self.random.random() < 0.5:
                self.failed += 1
                return self.random.choice(BAD)
            self.answered[self.call_of(request)] += 1
        called = request["messages"][-1]["role"] == "tool"
        return Turn("done") if called else Turn(calls=[("echo", {"text": "hi"})])

    @staticmethod
    def call_of(request: dict[str, Any]) -> str:
        """Return which call of which run a request is: the texts of its messages name run and step."""
        texts = [message["content"][0]["text"] for message in request["messages"] if message["role"] == "user"]
        return f"{texts[-1]} {len(request['messages'])}"

    def answers_of(self, run: str) -> Counter[str]:
        """Return how often each call of a run was answered."""
        return Counter({call: count for call, count in self.answered.items() if call.startswith(f"{run} ")})


def flow(first: str, second: str) -> str:
    steps = ", ".join(f'{{agent: a, input: "{{{{ run }}}} step {number}"}}' for number in range(STEPS))
    return FLOW.format(first=first, second=second, steps=steps)


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_no_run_fails_and_none_asks_twice(site: Site) -> None:
    night = Night(seed=27)
    results: dict[str, Any] = {}

    # Each run has models of its own: those of a process would leave the first one out after some failures.
    async def lane(names: list[str], plans: list[Any]) -> None:
        for name in names:
            plan = plans[int(name) % len(plans)].plan({"run": f"r{name}"})
            request = RunRequest(runs_dir=Path("runs"), out_dir=Path("out"), yes=True)
            try:
                results[name] = await app.run(plan, request, StandaloneRun(), lambda _event: None, run_id=name)
            except Exception as error:
                results[name] = error

    async def work(hosts: list[str], second: str) -> None:
        plans = []
        for number, host in enumerate(hosts):
            file = Path(f"night-{number}.yaml")
            file.write_text(flow(host, second))
            asked = RunRequest(runs_dir=Path("runs"), out_dir=Path("out"), yes=True, values={"run": "r"})
            catalog = discover_catalog([str(site.directory)])
            plans.append(app.plan_rows(file, asked, catalog=catalog, settings=Settings(Path("runs"))))
        names = [str(number) for number in range(RUNS)]
        await asyncio.gather(*(lane(names[start::LANES], plans) for start in range(LANES)))

    with ModelServer(night) as server:
        # In one run of five the first model's server does not even listen.
        asyncio.run(work([server.url] * 4 + [closed_port()], server.url))
    wrong = {name: repr(result) for name, result in results.items() if not isinstance(result, RunResult)}
    assert wrong == {}
    assert {result.status for result in results.values()} == {"completed"}
    assert night.failed > RUNS / 2
    assert len(night.answered) == RUNS * STEPS * 2
    assert set(night.answered.values()) == {1}


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_a_killed_run_asks_for_no_answer_again_that_its_journal_has(site: Site, tmp_path: Path) -> None:
    night = Night(seed=7)
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(site.directory)}
    strands = str(Path(sys.executable).with_name("strands"))
    with ModelServer(night) as server:
        Path("night.yaml").write_text(flow(server.url, server.url))
        for number in range(KILLED):
            runs = Path(f"runs-{number}").absolute()
            folder = ["--runs-dir", str(runs)]
            night.left_until_full = 1 + number
            night.is_full.clear()
            command = [strands, "run", "night.yaml", "--var", f"run=k{number}", "--yes", *folder]
            with subprocess.Popen(
                command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                assert night.is_full.wait(120)
                process.kill()
            (run,) = (path.name for path in runs.iterdir())
            journal = SqliteJournal.open(runs / run, hold=False)
            done = [row.key for row in journal.rows("model") if row.status == "done"]
            journal.close()
            before = night.answers_of(f"k{number}")
            resume = [strands, "resume", run, *folder]
            ended = subprocess.run(resume, env=environ, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stderr
            after = night.answers_of(f"k{number}")
            assert len(after) == STEPS * 2
            # Only the answer that was under way when it was killed may come again.
            again = [call for call, count in after.items() if count > 1]
            assert len(again) <= 1
            assert len(before) - len(again) == len(done)
