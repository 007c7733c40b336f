"""What a class of tools makes lives as long as the run, for every caller, and is closed however the run ends."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.cli.strands import Folder
from tests.distributions import make_distribution

SOURCE = """import threading
from strands import tool

def note(line):
    with open('log', 'a') as file:
        file.write(line + '\\n')

class Counter:
    def __init__(self):
        note('made')
        self.count = 0
    @tool
    def add(self, text: str) -> str:
        "Add."
        self.count += 1
        note(f'add {self.count}')
        return str(self.count)
    @tool
    def hang(self, text: str) -> str:
        "Hang."
        import sys
        note('hangs')
        print('hanging', file=sys.stderr, flush=True)
        threading.Event().wait(60)
        return ''
    async def aclose(self):
        note('closed')
"""
ADD = {"calls": [{"add": {"text": "x"}}]}
AGENTS = {name: {"prompt": "You count.", "tools": ["native:counter"]} for name in ("one", "two")}


@pytest.fixture
def folder(folder: Folder) -> Folder:
    make_distribution(
        folder.site,
        "strands-tool-counter",
        "1.0",
        {"counter": "strands_tool_counter:Counter"},
        {"strands_tool_counter/__init__.py": SOURCE},
    )
    return folder


def log(folder: Folder) -> list[str]:
    return (folder.work / "log").read_text().splitlines()


def test_all_agents_and_steps_of_a_run_share_one_instance(folder: Folder) -> None:
    steps = [
        {"agent": "one", "input": "1"},
        {"tool": "native:counter.add", "input": {"text": "x"}},
        {"agent": "two", "input": "2"},
    ]
    folder.workflow(steps, {key: [ADD, {"text": "ok"}] for key in ("steps.0", "steps.2")}, agents=AGENTS)
    ran = folder.strands("run", "flow.yaml", "--yes")
    assert ran.code == 0, ran.err
    assert log(folder) == ["made", "add 1", "add 2", "add 3", "closed"]


def test_it_is_closed_when_the_run_fails(folder: Folder) -> None:
    folder.workflow([{"agent": "one", "input": "1"}], {"steps.0": [ADD]}, agents=AGENTS)
    assert folder.strands("run", "flow.yaml", "--yes").code == 10
    assert log(folder) == ["made", "add 1", "closed"]


def test_it_is_closed_when_the_call_by_hand_is_over(folder: Folder) -> None:
    assert folder.strands("tools", "run", "native:counter.add", "--input", '{"text": "x"}').out == "1\n"
    assert log(folder) == ["made", "add 1", "closed"]


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_it_is_closed_when_a_person_stops_the_run_while_its_tool_hangs(folder: Folder) -> None:
    steps = {"steps.0": [{"calls": [{"hang": {"text": "x"}}]}, {"text": "never"}]}
    folder.workflow([{"agent": "one", "input": "1"}], steps, agents=AGENTS)
    run = folder.start("run", "flow.yaml", "--yes")
    run.wait_for("hanging")
    run.send(signal.SIGINT)
    ended = run.end()
    assert ended.code == 130, ended.err
    assert log(folder) == ["made", "hangs", "closed"]
