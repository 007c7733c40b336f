"""`strands chat` at a terminal."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("a pseudo-terminal as POSIX has it", allow_module_level=True)

from test_ask import PNG, messages_of, pictures

from tests.cli.strands import SECONDS, Folder
from tests.fakes.model_server import ModelServer, Turn

# As the line editor draws it: the space is a movement.
PROMPT = r">\x08\x1b\[2C"


@pytest.mark.terminals
def test_a_chat_remembers_the_answers_and_ends_with_ctrl_d(folder: Folder, server: ModelServer) -> None:
    with folder.terminal("chat", PROMPT_TOOLKIT_NO_CPR="1") as terminal:
        for words, answer in [
            ("hello", "The user said: hello"),
            ("and why?", r"The user said: and why\?"),
            ("/tols", "'/tools'"),
            ("/tools calculator", "native:calculator"),
            ("/save flow.yaml", "strands run flow.yaml"),
        ]:
            terminal.wait_for(PROMPT)
            terminal.type(f"{words}\r")
            terminal.wait_for(answer)
        terminal.wait_for(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert [text for role, text in messages_of(server) if role == "user"] == ["hello", "and why?"]
    assert folder.strands("validate", "flow.yaml").code == 0


@pytest.mark.terminals
def test_a_tool_that_is_allowed_for_every_call_is_not_asked_about_again(folder: Folder, server: ModelServer) -> None:
    def answer(request: dict[str, Any]) -> Turn:
        last = request["messages"][-1]
        calls = last["role"] == "user" and "write" in str(last["content"])
        number = len(server.model_requests)
        return Turn(calls=[("file_write", {"path": f"{number}.txt", "content": "x"})] if calls else (), text="done")

    server.script = answer
    with folder.terminal("chat", "-T", "file_write", PROMPT_TOOLKIT_NO_CPR="1") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("write\r")
        terminal.wait_for(r"\[y/N/a/d\]")
        terminal.type("a\r")
        for words in ("write again", "/approve", "what now?", "/exit"):
            terminal.wait_for(PROMPT)
            terminal.type(f"{words}\r")
        assert terminal.end() == 0
    assert len(list(folder.work.glob("*.txt"))) == 2
    assert [text for role, text in messages_of(server) if role == "user"] == ["write", "write again", "what now?"]


@pytest.mark.terminals
def test_files_go_with_the_next_question_and_names_are_completed(folder: Folder, server: ModelServer) -> None:
    (folder.work / "a bee.png").write_bytes(PNG)
    with folder.terminal("chat", PROMPT_TOOLKIT_NO_CPR="1") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("/att\t")
        terminal.wait_for("ach")
        terminal.type(" none.png\r")
        terminal.wait_for("check the path")
        for words, answer in [
            ("/attach 'a bee.png'\r", "next question:"),
            ("what is it?\r", "The user said"),
            ("and now?\r", "The user said: and now"),
        ]:
            terminal.wait_for(PROMPT)
            terminal.type(words)
            terminal.wait_for(answer)
        terminal.wait_for(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert pictures(server, 0) == pictures(server, 1) == [PNG]


def server_is_asked(server: ModelServer) -> None:
    """Wait until a request has arrived."""
    deadline = time.monotonic() + SECONDS
    while not server.model_requests:
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


@pytest.mark.terminals
def test_ctrl_c_ends_the_answer_and_not_the_chat(folder: Folder, server: ModelServer) -> None:
    server.script = lambda request: Turn("late", delay_s=3600 if "slow" in str(request["messages"][-1]) else 0)
    with folder.terminal("chat", PROMPT_TOOLKIT_NO_CPR="1") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("slow\r")
        server_is_asked(server)
        terminal.type("\x03")
        terminal.wait_for(PROMPT)
        for words in ("quick", "again"):
            terminal.type(f"{words}\r")
            terminal.wait_for("late")
            terminal.wait_for(PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert [text for role, text in messages_of(server) if role == "user"] == ["quick", "again"]


def test_a_chat_needs_a_terminal(folder: Folder, server: ModelServer) -> None:
    ran = folder.strands("chat", given="hello\n")
    assert (ran.code, ran.out, server.model_requests) == (2, "", [])
    assert "strands ask" in ran.err
