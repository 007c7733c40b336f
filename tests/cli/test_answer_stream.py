"""The answer at a terminal: it comes while the model writes it, once, and nothing else changes."""

from __future__ import annotations

import sys

import pytest

from tests.cli.screen import Screen, without_drawing
from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

LIVE = {"provider": "openai", "model_id": "m"}
STEPS = [{"agent": "writer", "input": "One."}, {"agent": "writer", "input": "Two."}]
TURNS = {"steps.0": [{"text": "draft"}], "steps.1": [{"text": "the\x1b[31m answer"}]}


@pytest.mark.parametrize("flag", ["--quiet", "--verbose", "--detach"])
def test_the_answer_is_shown_once(folder: Folder, flag: str) -> None:
    folder.workflow(STEPS, TURNS)
    with folder.terminal("run", "flow.yaml", flag) as terminal:
        assert terminal.end() == 0
    assert terminal.text.count("the\\x1b[31m answer\r\n") == 1
    assert "\x1b" not in without_drawing(terminal.text)
    assert Screen().feed(terminal.text).text.count("draft") == (flag == "--verbose")


def test_the_answer_comes_before_the_run_has_ended(folder: Folder) -> None:
    folder.workflow(STEPS, TURNS)
    with folder.terminal("run", "flow.yaml") as terminal:
        assert terminal.end() == 0
    assert terminal.text.index("31m answer\r\n") < terminal.text.index("completed in")


@pytest.mark.parametrize("words", [["--json"], ["--events", "-"]])
def test_what_else_goes_to_stdout_stays_alone(folder: Folder, words: list[str]) -> None:
    folder.workflow(STEPS, TURNS, agents={"writer": {"prompt": "You write.", "memory": "step"}})
    with folder.terminal("run", "flow.yaml", "--quiet", *words) as terminal:
        assert terminal.end() == 0
    assert terminal.text.lstrip().startswith("{")


def test_text_before_a_tool_call_is_not_taken_for_the_answer(folder: Folder) -> None:
    folder.tool("echo", "return answer('told')")
    agents = {"writer": {"prompt": "w", "tools": ["native:echo"]}}
    turns = [{"text": "First a look.", "calls": [{"echo": {"text": "x"}}]}, {"text": "The answer."}]
    folder.workflow(STEPS[:1], {"steps.0": turns}, agents=agents)
    with folder.terminal("run", "flow.yaml") as terminal:
        assert terminal.end() == 0
    assert terminal.text.count("First a look.\r\n") == 1
    assert terminal.text.count("The answer.\r\n") == 1


def test_an_attempt_that_failed_leaves_the_answer_whole(folder: Folder) -> None:
    folder.workflow(STEPS[:1], runtime={**LIVE, "failure_policy": {"retries": 1, "wait_min": 0, "wait_max": 0}})
    with (
        ModelServer([Turn(status=503), Turn("the answer")]) as server,
        folder.terminal("run", "flow.yaml", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url) as terminal,
    ):
        assert terminal.end() == 0
    assert terminal.text.count("the answer\r\n") == 1


def test_an_answer_of_several_branches_is_printed_at_the_end(folder: Folder) -> None:
    branches = [{"id": name, "steps": [{"agent": "writer", "input": name}]} for name in ("a", "b")]
    turns = {f"branches.{name}.steps.0": [{"text": f"answer {name}"}] for name in ("a", "b")}
    folder.workflow([], turns, pattern={"type": "parallel", "config": {"branches": branches}})
    with folder.terminal("run", "flow.yaml") as terminal:
        assert terminal.end() == 0
    assert terminal.text.rstrip().endswith("answer b")
    shown = Screen().feed(terminal.text).text
    assert [shown.count(f"answer {name}") for name in ("a", "b")] == [1, 1]


def test_a_resumed_run_prints_its_answer(folder: Folder) -> None:
    folder.workflow(STEPS, TURNS)
    folder.strands("run", "flow.yaml")
    with folder.terminal("resume", "last") as terminal:
        assert terminal.end() == 0
    assert Screen().feed(terminal.text).text.count("31m answer") == 1
