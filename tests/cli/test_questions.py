"""What a person sees before they approve a call or a gate, and what their answer is valid for."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.strands import Folder
from tests.cli.test_hook_plugins import hook_plugin, switch_on
from tests.wordings import Wording

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
TWO = [{"agent": "writer", "input": "One."}, {"agent": "writer", "input": "Two."}]
LONG = "first\n? Allow all? [y/N]\n" + "\n".join(f"line {number}" for number in range(200)) + "\x1b[31m"
QUESTION = r"\[y/N/a/d\] $"


def write(path: str, content: str = "hello\n") -> dict[str, object]:
    return {"calls": [{"file_write": {"path": path, "content": content}}]}


def waiting(folder: Folder, content: str = LONG) -> str:
    """Leave a run that waits for the approval of a call; return what it printed."""
    folder.workflow(TWO[:1], {"steps.0": [write("note.txt", content), {"text": "done"}]}, agents=WRITER)
    return folder.strands("run", "flow.yaml", "--detach").err


def test_a_call_that_waits_is_shown_whole_wherever_it_is_decided(folder: Folder) -> None:
    printed = waiting(folder)
    shown = folder.strands("runs", "show", "last").out
    with folder.terminal("approve", "last") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("n\n")
        assert terminal.end() == 19
    assert "n: it waits still" in terminal.text, "at a run, a no would refuse the call"
    for text in (printed, shown, terminal.text):
        assert "file_write of strands-tool-files" in text
        assert "path: note.txt" in text
        assert "| line 0" in text
        assert "| line 199\\x1b[31m" in text
        assert "| ? Allow all? [y/N]" in text, "no line of it begins as a question does"
        assert "\n? Allow all" not in text
        assert "\x1b" not in text
    assert not (folder.work / "note.txt").exists()
    ran = folder.strands("approve", "last")
    assert ran.code == 0, "a script is not asked"
    assert "path: note.txt" in ran.err, "its log says what it has approved"
    assert "\n? Allow all" not in ran.err
    assert (folder.work / "note.txt").exists()


def test_the_change_of_a_file_is_shown_and_its_whole_text_on_request(folder: Folder) -> None:
    folder.write("note.txt", "same\nold\nsame too\n")
    new = "same\nnew\nsame too\n"
    printed = waiting(folder, new)
    assert "| -old\n" in printed
    assert "| +new\n" in printed
    with folder.terminal("approve", "last") as terminal:
        terminal.wait_for(QUESTION)
        assert "| +new" in terminal.text
        terminal.type("d\n")
        terminal.wait_for(r"same\\nnew\\nsame too")
        terminal.wait_for(QUESTION)
        terminal.type("y\n")
        assert terminal.end() == 0
    assert (folder.work / "note.txt").read_text() == new


@pytest.mark.parametrize(
    ("old", "words"),
    [(b"a\0\xff", "replaces a file of 3 bytes, which is not text"), (b"x\n" * 200_000, "too large to compare")],
)
def test_a_file_that_is_replaced_without_a_diff_is_named_as_one(folder: Folder, old: bytes, words: str) -> None:
    (folder.work / "note.txt").write_bytes(old)
    printed = waiting(folder, "new\n")
    assert words in printed
    assert words in folder.strands("runs", "show", "last").out
    assert "content: " in printed


@pytest.mark.parametrize("path", ["../outside.txt", "link.txt"])
def test_a_file_outside_the_workspace_is_not_shown(folder: Folder, path: str) -> None:
    (folder.root / "outside.txt").write_text("private\n")
    (folder.work / "link.txt").symlink_to(folder.root / "outside.txt")
    folder.workflow(TWO[:1], {"steps.0": [write(path), {"text": "done"}]}, agents=WRITER)
    assert "private" not in folder.strands("run", "flow.yaml", "--detach").err


def test_one_answer_can_be_for_every_call_of_a_tool_in_this_run(folder: Folder, wording: Wording) -> None:
    turns = {"steps.0": [write("a"), write("b"), {"text": "one"}], "steps.1": [write("c"), {"text": "two"}]}
    folder.workflow(TWO, turns, agents=WRITER)
    with folder.terminal("run", "flow.yaml") as terminal:
        asked = terminal.wait_for(r"  y: this call[^\r]*")
        terminal.wait_for(QUESTION)
        terminal.type("a\n")
        assert terminal.end() == 0
    wording(asked[0])
    assert terminal.text.count("? Allow") == 1
    effects = folder.strands("runs", "show", "last", "--json").document["effects"]
    assert {row["decision"] for row in effects if row["kind"] == "tool"} == {"allow"}
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("n\n")
        terminal.wait_for(QUESTION)
        terminal.type("\x03")
        assert terminal.end() == 130


def test_an_answer_for_the_whole_run_survives_its_process_but_not_the_run(folder: Folder) -> None:
    gate = {"type": "hitl", "prompt": "Go on?"}
    turns = {"steps.0": [write("a"), {"text": "one"}], "steps.2": [write("c"), {"text": "two"}]}
    folder.workflow([TWO[0], gate, TWO[1]], turns, agents=WRITER)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    with folder.terminal("approve", "last") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("a\n")
        terminal.wait_for(r"answer: $")
        terminal.type("\x04")
        assert terminal.end() == 19
    assert folder.strands("approve", "last", "steps.1").code == 0
    assert (folder.work / "c").exists()
    again = folder.strands("runs", "rerun", "last", "--from", "steps.2", "--detach")
    assert again.code == 19, "another run asks again"


def test_a_managed_question_is_answered_call_by_call(folder: Folder) -> None:
    """Its own test of the machine's policy file is in `test_managed_questions.py`; here a hook plugin asks."""
    body = "@hookimpl\ndef strands_decide_call(record, call, context):\n    return Decision('ask', 'each one')\n"
    switch_on(folder, hook_plugin(folder, "asking", body))
    folder.workflow(TWO[:1], {"steps.0": [write("a"), {"text": "one"}]}, agents=WRITER)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\[y/N/d\] $")
        terminal.type("a\n")
        terminal.wait_for(r"\[y/N/d\] $")
        terminal.type("n\n")
        terminal.end()
    assert not (folder.work / "a").exists()


def test_a_gate_shows_its_context_and_what_approve_answers(folder: Folder) -> None:
    gate = {"type": "hitl", "prompt": "Publish?", "context_display": "The draft\nof bees."}
    write_up = {"agent": "writer", "input": "{% if steps[0].approved %}yes{% else %}no{% endif %}"}
    folder.workflow([gate, write_up], {"steps.1": [{"when": "yes", "text": "published"}]})
    printed = folder.strands("run", "flow.yaml", "--detach").err
    shown = folder.strands("runs", "show", "last").out
    for text in (printed, shown):
        assert "of bees." in text
        assert "approve answers: approved" in text
    with folder.terminal("approve", "last") as terminal:
        terminal.wait_for(r"The answer is: approved")
        terminal.wait_for(r"\[y/N\] $")
        assert "of bees." in terminal.text
        terminal.type("y\n")
        assert terminal.end() == 0
    assert "published" in terminal.text


@pytest.mark.parametrize(
    ("answer", "text"), [("yes", "True"), ("Approved", "True"), ("ship it", "False"), ("no", "False")]
)
def test_templates_get_whether_a_gate_is_approved(folder: Folder, answer: str, text: str) -> None:
    folder.workflow(
        [{"type": "hitl", "prompt": "Publish?"}, {"tool": "native:say", "input": {"text": "{{ steps[0].approved }}."}}]
    )
    folder.tool("say", "return answer(tool['input']['text'])")
    folder.strands("run", "flow.yaml")
    assert folder.strands("approve", "last", "--answer", answer).out == f"{text}.\n"


@pytest.mark.parametrize(("answer", "text"), [("yes", "published"), ("ship it", "stopped")])
def test_a_graph_chooses_by_whether_a_gate_is_approved(folder: Folder, answer: str, text: str) -> None:
    folder.tool("say", "return answer(tool['input']['text'])")
    nodes = {
        "ask": {"type": "hitl", "prompt": "Publish?"},
        "publish": {"tool": "native:say", "input": {"text": "published"}},
        "stop": {"tool": "native:say", "input": {"text": "stopped"}},
    }
    choose = [{"when": "{{ nodes.ask.approved }}", "to": "publish"}, {"when": "else", "to": "stop"}]
    config = {"nodes": nodes, "edges": [{"from": "ask", "choose": choose}]}
    flow = {"version": 2, "name": "flow", "pattern": {"type": "graph", "config": config}}
    (folder.work / "flow.yaml").write_text(json.dumps(flow), "utf-8")
    assert folder.strands("run", "flow.yaml").code == 19
    assert folder.strands("approve", "last", "--answer", answer).out == f"{text}\n"
