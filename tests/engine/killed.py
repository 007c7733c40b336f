"""Run a chain in a process of its own for each moment at which one can die, and kill it there with SIGKILL."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import RunResult, execute
from strands_cli.engine.ports import Ports
from strands_cli.events import Event
from strands_cli.outputs.artifacts import ArtifactWriter
from strands_cli.planning.plan_values import Plan
from tests.distributions import sound
from tests.fakes.plans import chain_of
from tests.fakes.ports import FakeClock, Moment, Say, ScriptedAgents, ScriptedHuman, ScriptedTools, Use

TURNS = {
    "steps.0": [Use((("add", {"n": 1}), ("add", {"n": 2}))), Use((("add", {"n": 3}),)), Say("added")],
    "steps.3": [Say("end")],
}
MODELS = ["steps.0/model.0", "steps.0/model.1", "steps.0/model.2", "steps.3/model.0"]
TOOLS = ["steps.0/tool.0.add", "steps.0/tool.1.add", "steps.0/tool.2.add", "steps.2/tool.0.echo"]
MOMENTS = [
    *((moment, key) for key in MODELS for moment in ("inside model", "after model")),
    *((moment, key) for key in TOOLS for moment in ("before tool", "inside tool", "after tool")),
    ("inside human", "steps.1"),
    ("inside artifacts", "artifacts"),
    ("after artifacts", "artifacts"),
]


def plan_in(directory: Path) -> Plan:
    """Plan the chain: an agent with tools, a gate, a tool-call step, another agent, an artifact."""
    sound(directory / "site", "echo")
    return chain_of(
        """
        - {agent: writer, input: go}
        - {type: hitl, prompt: Good?}
        - {tool: echo, input: {text: "{{ hitl_response }}"}}
        - {agent: editor}
        """,
        rest="outputs: {artifacts: [{path: a, from: '{{ last_response }}, {{ run.usage.model_calls }} calls,"
        " {{ timestamp }}, {{ execution_context.history }}'}]}",
        catalog=discover_catalog([str(directory / "site")]),
    )


def run_in(directory: Path, journal: SqliteJournal, moment: Moment, repeatable: bool) -> tuple[RunResult, list[Event]]:
    """Run or go on with the chain; every call that is really made adds a line to the file `made`."""

    def made(line: str) -> str:
        with (directory / "made").open("a") as file:
            file.write(f"{line}\n")
        return line

    def reached(name: str, key: str) -> None:
        if name in ("inside model", "inside human"):
            made(key)
        moment(name, key)

    class Human(ScriptedHuman):
        async def ask(self, question: Any) -> Any:
            reached("inside human", question.key)
            return await super().ask(question)

    writer = ArtifactWriter(directory / "out", force=False)

    def write(texts: Any) -> list[dict[str, Any]]:
        moment("inside artifacts", "artifacts")
        written = writer(texts)
        moment("after artifacts", "artifacts")
        return written

    events: list[Event] = []
    tools = ScriptedTools(
        {"add": lambda given: made(f"add {given['n']}"), "echo": lambda given: made(given["text"])},
        repeatable=repeatable,
        moment=moment,
    )
    ports = Ports(journal, ScriptedAgents(TURNS, tools, reached), tools, Human(["yes"]), FakeClock())
    result = asyncio.run(execute(plan_in(directory), ports, "run-1", events.append, write))
    return result, events


def die(directory: Path, deadly: tuple[str, str], repeatable: bool) -> None:
    """Run the chain in a child of this process that kills itself at the moment; return when it is dead."""
    child = os.fork()
    if child == 0:

        def moment(*now: str) -> None:
            if now == deadly:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            run_in(directory, SqliteJournal.create(directory / "run"), moment, repeatable)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, f"{deadly} never came: {status}"


if __name__ == "__main__":
    for number, when in enumerate(MOMENTS):
        for may_repeat in (True, False):
            die(Path(sys.argv[1]) / f"{number}-{may_repeat}", when, may_repeat)
