"""A tool that asks in the middle of its work, as a person meets it: at a terminal, in a pipe, later."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys

import pytest

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from tests.cli.strands import Folder
from tests.cli.test_resume import offered, run_id
from tests.distributions import make_distribution

posix = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals and SIGKILL are POSIX")
SOURCE = """from strands import ToolContext, tool

@tool(context=True)
def book(text: str, tool_context: ToolContext) -> str:
    "Book a trip."
    with open('entered', 'a') as file:
        file.write('x')
    day = tool_context.interrupt('day', reason='Which day, ' + text + chr(0x202e) + '?')
    seat = tool_context.interrupt('seat', reason='Which seat?')
    return f'booked {day} {seat}'
"""
KEY = "steps.0/tool.0.book"
CALL = {"calls": [{"book": {"text": "Ann"}}]}
GIVEN = ("--input", '{"text": "Ann"}')


@pytest.fixture
def flow(folder: Folder) -> Folder:
    made = folder.site, "strands-tool-book", "1.0", {"book": "strands_tool_book:book"}
    make_distribution(*made, {"strands_tool_book/__init__.py": SOURCE})
    folder.workflow(
        [{"agent": "writer", "input": "Book."}],
        {"steps.0": [CALL, {"text": "done"}]},
        agents={"writer": {"prompt": "You book.", "tools": ["native:book"]}},
    )
    return folder


def entered(folder: Folder) -> int:
    return len((folder.work / "entered").read_text())


def recorded(folder: Folder) -> str:
    """Return the tool's answer in the journal, which is what its model got."""
    with contextlib.closing(SqliteJournal.open(folder.runs / run_id(folder), hold=False)) as journal:
        row = journal.row(KEY)
        assert row is not None
        return json.dumps(row.output)


def test_in_a_pipe_the_run_waits_and_the_printed_commands_give_the_answers(flow: Folder) -> None:
    waits = flow.strands("run", "flow.yaml", "--allow", "book", "--json")
    assert waits.code == 19
    [question] = waits.document["questions"]
    assert (question["key"], question["kind"]) == (f"{KEY}/interrupt.0", "interrupt")
    assert re.search(r"\bbook .*\bstrands-tool-book, .*\bwriter, .*: Which day, Ann\\u202e\?", waits.err)
    [words], [refusal] = offered(waits, "approve"), offered(waits, "reject")
    assert words[2:] == [f"{KEY}/interrupt.0", "--answer", "ANSWER"]
    assert refusal[2:] == [f"{KEY}/interrupt.0"]

    wordless = flow.strands("approve", run_id(flow))
    assert (wordless.code, "--answer" in wordless.err) == (2, True)
    unanswered = flow.strands("resume", run_id(flow))
    assert (unanswered.code, entered(flow)) == (19, 1)

    second = flow.strands(*words[:-1], "Monday")
    assert (second.code, entered(flow)) == (19, 2)
    last = flow.strands("approve", run_id(flow), KEY, "--answer", "12A")
    assert (last.code, last.out, entered(flow)) == (0, "done\n", 3)
    assert "booked Monday 12A" in recorded(flow)


def test_a_refused_question_is_reported_to_the_model_and_the_run_goes_on(flow: Folder) -> None:
    flow.strands("run", "flow.yaml", "--allow", "book")
    ran = flow.strands("reject", run_id(flow), "--reason", "too dear")
    assert (ran.code, ran.out, entered(flow)) == (0, "done\n", 1)
    assert ": too dear" in recorded(flow)


@posix
def test_at_a_terminal_it_is_asked_at_once_and_a_killed_run_asks_again(flow: Folder) -> None:
    with flow.terminal("run", "flow.yaml", "--allow", "book") as terminal:
        terminal.wait_for(r"\? book .*\bstrands-tool-book, .*\bwriter, .*: Which day, Ann\\u202e\?")
        terminal.wait_for(r": $")
        terminal.type("\n")
        terminal.wait_for(r"\n.+\n.*: $")
        assert "Which seat" not in terminal.text, "an empty answer is none"
        terminal.type("Monday\n")
        terminal.wait_for(r": Which seat\?")
        terminal.send(signal.SIGKILL)
        terminal.end()
    with flow.terminal("resume", run_id(flow)) as terminal:
        terminal.wait_for(r": Which seat\?")
        assert "Which day" not in terminal.text
        terminal.type("12A\n")
        assert terminal.end() == 0
    assert entered(flow) == 3


@posix
def test_tools_run_asks_at_a_terminal(flow: Folder) -> None:
    with flow.terminal("tools", "run", "book", *GIVEN) as terminal:
        terminal.wait_for(r"\bbook .*\bstrands-tool-book, .*: Which day")
        terminal.type("Monday\n")
        terminal.wait_for("Which seat")
        terminal.type("12A\n")
        assert terminal.end() == 0
    assert "booked Monday 12A" in terminal.text


def test_tools_run_in_a_pipe_says_where_the_question_could_be_answered(flow: Folder) -> None:
    ran = flow.strands("tools", "run", "book", *GIVEN)
    assert ran.code == 10
    assert "Which day" in ran.err


def test_a_step_without_a_model_waits_the_same_way(flow: Folder) -> None:
    flow.workflow([{"tool": "native:book", "input": {"text": "Ann"}}])
    waits = flow.strands("run", "flow.yaml", "--allow", "book")
    assert waits.code == 19, waits.err
    assert flow.strands("approve", run_id(flow), "--answer", "Monday").code == 19
    last = flow.strands("approve", run_id(flow), "--answer", "12A")
    assert (last.code, last.out) == (0, "booked Monday 12A\n")
