"""Makes the record of a long run: 10,000 steps of agents, each with a model call, in a graph that goes round.

Usage: python -m bench.long_run resume --pairs N    (called by the bench)

The agents are made up, since it is the record that is measured: its rows are those of a real run, a model's stream of
events with each step. Prints what it takes to go on with such a run whose process was killed, without imports, and
the ratio to reading its rows.
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
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.measure import collect_as_the_command_does
from strands_cli import app
from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.config import read_settings
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.ports import AgentAnswer, AgentRequest
from strands_cli.events import Usage
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest

STEPS = 10_000

WORDS = "Rivers bend, and what they carry stays behind in the bend. " * 4
EVENTS = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockStart": {"start": {}}},
    *({"contentBlockDelta": {"delta": {"text": word + " "}}} for word in WORDS.split()),
    {"contentBlockStop": {}},
    {"messageStop": {"stopReason": "end_turn"}},
    {"metadata": {"usage": {"inputTokens": 9, "outputTokens": 48, "totalTokens": 57}, "metrics": {"latencyMs": 1}}},
]
WORKFLOW = """version: 2
name: bench-long
runtime: {{provider: openai, model_id: bench, host: "http://127.0.0.1:9/v1"}}
agents:
  one: {{prompt: Answer in one line., tools: []}}
pattern:
  type: graph
  config:
    max_iterations: {rounds}
    nodes:
      there: {{agent: one, input: "Say a word about rivers."}}
      back: {{agent: one, input: "Go on from here: {{{{ nodes.there.response }}}}"}}
    edges:
      - {{from: there, to: [back]}}
      - {{from: back, choose: [{{when: "nodes.back.iteration < {rounds}", to: there}}]}}
"""


class NoPerson:
    """A person who is not there; the run asks nothing."""

    async def ask(self, question: Question) -> Answer:
        """Answer that no person can be asked."""
        return Answer("nobody")


async def answer_at_once(runner: SdkAgentRunner, request: AgentRequest, scope: StepScope) -> AgentAnswer:
    """Record a model call as a real agent does, without a model."""
    messages = [{"role": "user", "content": [{"text": request.prompt}]}]
    effect = scope.model_effect({"messages": messages, "system": request.system_prompt})
    if effect.recorded is None:
        await effect.start()
        detail: dict[str, Any] = {"agent": scope.who, "model": "openai/bench", "request": request.prompt[:200]}
        usage = Usage(9, 48)
        await effect.finish({"events": EVENTS, "model_state": {}}, usage=usage, detail=detail)
        scope.count_model_call(usage, None)
    return AgentAnswer(WORDS, "end_turn", Usage(9, 48))


def plan_in(runs_dir: Path, steps: int) -> Plan:
    """Plan a run of so many steps."""
    path = runs_dir.parent / "long.yaml"
    path.write_text(WORKFLOW.format(rounds=steps // 2), encoding="utf-8")
    return app.plan(path, RunRequest(runs_dir=runs_dir), settings=read_settings(runs_dir=runs_dir))


def make(runs_dir: Path, steps: int = STEPS) -> Path:
    """Run it to its end and return the directory of its record, whose id is `long`."""
    options, planned = RunRequest(runs_dir=runs_dir, out_dir=runs_dir.parent / "out"), plan_in(runs_dir, steps)
    os.environ.setdefault("OPENAI_API_KEY", "not-a-key")
    with patch.object(SdkAgentRunner, "run_agent", answer_at_once):
        result = asyncio.run(app.run(planned, options, NoPerson(), lambda event: None))
    return (runs_dir / result.run_id).rename(runs_dir / "long")


def resumed_ms(planned: Plan, directory: Path) -> float:
    """Go on with the run as if its process had been killed at its end; return the CPU milliseconds of that."""
    journal = SqliteJournal.open(directory)
    journal.put(status="running", session_started_at=journal.get("started_at"), worked_s=0.0)
    before = time.process_time()
    options = RunRequest(runs_dir=directory.parent, out_dir=directory.parent.parent / "out")
    result = asyncio.run(app.resume(planned, journal, options, NoPerson(), lambda event: None))
    spent = (time.process_time() - before) * 1000
    if result.model_calls != STEPS:
        raise RuntimeError(f"{result.model_calls} calls are counted, not {STEPS}")
    return spent


def reading_ms(directory: Path) -> float:
    """Return the CPU milliseconds in which the run's rows are read, each column of JSON as what it says."""
    before = time.process_time()
    with contextlib.closing(sqlite3.connect(directory / "journal.sqlite")) as journal:
        for output, usage, detail in journal.execute("SELECT output, usage, detail FROM effects ORDER BY position"):
            for text in (output, usage, detail):
                json.loads(text) if text is not None else None
    return (time.process_time() - before) * 1000


def main(arguments: list[str]) -> int:
    """Print one figure as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.long_run", description=__doc__)
    parser.add_argument("what", choices=["resume"])
    parser.add_argument("--pairs", type=int, default=9)
    chosen = parser.parse_args(arguments)
    collect_as_the_command_does()
    with tempfile.TemporaryDirectory() as folder:
        runs_dir = Path(folder) / "runs"
        runs_dir.mkdir()
        directory = make(runs_dir)
        planned = plan_in(runs_dir, STEPS)
        resumed_ms(planned, directory)
        costs = [(resumed_ms(planned, directory), reading_ms(directory)) for _ in range(chosen.pairs)]
    ratio = statistics.median(resumed / reading for resumed, reading in costs)
    print(json.dumps({"ms": statistics.median(resumed for resumed, _ in costs), "ratio": ratio}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
