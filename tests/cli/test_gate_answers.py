"""Gates with typed answers, several people, a time to answer and an addressee; and notes for the agents."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from strands_cli.config import account_name
from tests.cli.strands import Folder
from tests.distributions import make_distribution
from tests.wordings import Wording

ASK = {"type": "hitl", "prompt": "Ship?"}
SAY = {"tool": "native:say", "input": {"text": "{{ steps[0].response }}|{{ steps[0].output }}|{{ hitl_note }}"}}


def waiting(folder: Folder, **gate: Any) -> None:
    """Leave a run that waits at a gate, and shows what the next step has of the answer."""
    folder.tool("say", "return answer(tool['input']['text'])")
    folder.workflow([{**ASK, **gate}, SAY])
    ran = folder.strands("run", "flow.yaml", "--detach")
    assert ran.code == 19, ran.err


def question(folder: Folder) -> dict[str, Any]:
    (document,) = folder.strands("runs", "show", "last", "--json").document["questions"]
    return dict(document)


def test_an_answer_is_read_by_its_schema_and_has_a_value(folder: Folder) -> None:
    waiting(folder, answer={"type": "boolean"})
    for unclear in ("sure", "", "approved"):
        assert folder.strands("approve", "last", "--answer", "-", given=unclear).code == 2
    ran = folder.strands("approve", "last", "--answer", "-", given=" Y ")
    assert (ran.code, ran.out) == (0, "yes|True|\n"), ran.err


@pytest.mark.terminals
def test_the_terminal_asks_again_until_the_answer_fits(folder: Folder) -> None:
    folder.workflow([{**ASK, "answer": {"type": "boolean"}}, {**ASK, "answer": {"type": "integer"}}])
    with folder.terminal("run", "flow.yaml") as terminal:
        for unclear in ("perhaps", "1"):
            terminal.wait_for(r"answer: $")
            terminal.type(f"{unclear}\n")
        terminal.wait_for(r"answer: $")
        terminal.type("No\n")
        terminal.wait_for(r"the answer fits: {\"type\": \"integer\"}")
        terminal.wait_for(r"answer: $")
        terminal.type("few\n")
        terminal.wait_for(r"answer: $")
        terminal.type("7\n")
        assert terminal.end() == 0
    assert terminal.text.rstrip().endswith("7")


@pytest.mark.parametrize(("given", "called"), [("YES", True), (" n ", False)])
def test_yes_and_no_mean_what_they_say_for_a_call(folder: Folder, given: str, called: bool) -> None:
    folder.tool("act", "open('called', 'w')\nreturn answer('did it')", annotations={"destructiveHint": True})
    folder.workflow([{"tool": "native:act", "input": {}, "on_error": "continue"}])
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    assert folder.strands("approve", "last", "--answer", "yes please").code == 2
    folder.strands("approve", "last", "--answer", given)
    assert (folder.work / "called").exists() == called


def test_a_note_goes_to_the_templates_and_to_the_model_of_a_call(folder: Folder) -> None:
    waiting(folder)
    ran = folder.strands("approve", "last", "--note", "but softly")
    assert ran.out == "approved|None|but softly\n"
    shown = folder.strands("runs", "show", "last", "steps.0", "--json").document["question"]
    assert (shown["note"], shown["who"]) == ("but softly", account_name())
    agent = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
    call = {"calls": [{"file_write": {"path": "a", "content": ""}}]}
    folder.workflow([{"agent": "writer", "input": "Go."}], {"steps.0": [call, {"text": "done"}]}, agents=agent)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    assert folder.strands("approve", "last", "--note", "only this once").code == 0
    result = folder.strands("runs", "show", "last", "steps.0/tool.0.file_write", "--json").document
    assert "only this once" in result["text"]
    assert result["edited_by"] is None


def test_two_different_people_must_give_the_same_answer(folder: Folder, wording: Wording) -> None:
    waiting(folder, approvers=2, answer={"enum": ["ship", "hold"]})
    first = folder.strands("approve", "last", "--answer", "ship", "--as", "Ann")
    assert first.code == 19, "another person has to answer"
    assert f"1 of 2 people have answered; Ann ({account_name()}): ship" in folder.strands("runs", "show", "last").out
    for words in (["--as", "ann", "--answer", "ship"], ["--as", "Bob", "--answer", "hold"]):
        refused = folder.strands("approve", "last", *words)
        assert refused.code == 2
        wording(refused.err.replace(f"({account_name()})", "(ACCOUNT)"))
    assert folder.strands("resume", "last").code == 19, "the first answer is kept"
    second = folder.strands("approve", "last", "--answer", "ship", "--as", "Bob")
    assert (second.code, second.out) == (0, "ship|ship|\n")
    shown = folder.strands("runs", "show", "last", "steps.0", "--json").document["question"]
    assert [one["who"].split()[0] for one in [*shown["answers"], shown]] == ["Ann", "Bob"]


def test_one_of_two_people_can_reject(folder: Folder) -> None:
    waiting(folder, approvers=2)
    assert folder.strands("approve", "last", "--as", "Ann", "--no-resume").code == 0
    assert folder.strands("reject", "last", "--as", "Bob", "--reason", "no").code == 10


@pytest.mark.terminals
def test_the_person_at_the_terminal_is_one_of_two(folder: Folder) -> None:
    folder.workflow([{**ASK, "approvers": 2}])
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"answer: $")
        terminal.type("yes\n")
        assert terminal.end() == 19
    with folder.terminal("resume", "last") as terminal:
        assert terminal.end() == 19, "the same account is not asked again"
    assert folder.strands("approve", "last", "--answer", "yes").code == 2
    assert folder.strands("approve", "last", "--answer", "yes", "--as", "Bob").code == 0


def grow_old(folder: Folder, seconds: float) -> None:
    """Let the question of the one run be asked earlier than it was."""
    (record,) = folder.runs.iterdir()
    with sqlite3.connect(next(record.glob("*.sqlite"))) as journal:
        journal.execute("UPDATE effects SET started_at = started_at - ? WHERE kind = 'human'", [seconds])


@pytest.mark.parametrize(
    ("gate", "code", "out"),
    [
        ({}, 10, ""),
        ({"on_expiry": "fail"}, 10, ""),
        ({"on_expiry": "default", "default": "true", "answer": {"type": "boolean"}}, 0, "yes|True|\n"),
    ],
)
def test_a_question_that_has_expired_takes_no_answer_and_ends_as_it_says(
    folder: Folder, gate: dict[str, Any], code: int, out: str, wording: Wording
) -> None:
    waiting(folder, expires="2h", **gate)
    grow_old(folder, 7300)
    late = folder.strands("approve", "last", "--answer", "yes")
    assert late.code == 2
    wording(late.err)
    ended = folder.strands("resume", "last")
    assert (ended.code, ended.out) == (code, out), ended.err
    again = folder.strands("resume", "last")
    assert again.code == (19 if gate.get("on_expiry") == "fail" else code), "a failed one is asked again"


def test_a_question_is_addressed_to_another_person_who_is_notified(folder: Folder) -> None:
    waiting(folder, delegate="ann")
    assert "it is for ann to answer" in folder.strands("runs", "show", "last").out
    given = folder.strands("approve", "last", "--delegate", "bob")
    assert given.code == 0
    assert folder.strands("resume", "last").code == 19
    assert [one["to"] for one in question(folder)["delegated"]] == ["ann", "bob"]
    assert "it is for bob to answer" in folder.strands("runs", "show", "last").out
    assert folder.strands("approve", "last", "--delegate", "bob", "--answer", "yes").code == 2
    assert folder.strands("approve", "last").code == 0


def test_a_tool_asks_for_a_typed_answer_and_gets_its_value(folder: Folder) -> None:
    ask = "reply = kwargs['tool_context'].interrupt('size', reason={'ask': 'How many?', 'answer': {'type': 'integer'}})"
    source = (
        "from strands import tool, ToolContext\n\n\n@tool(context=True)\ndef order(tool_context: ToolContext) -> str:\n"
        '    """Orders."""\n    kwargs = {"tool_context": tool_context}\n    '
        f"{ask}\n    return repr(reply)\n"
    )
    make_distribution(
        folder.site,
        "strands-tool-order",
        "1.0",
        {"order": "strands_tool_order:order"},
        {"strands_tool_order/__init__.py": source},
    )
    folder.workflow([{"tool": "native:order", "input": {}}])
    assert folder.strands("run", "flow.yaml", "--yes", "--detach").code == 19
    assert folder.strands("approve", "last", "--answer", "many").code == 2
    assert folder.strands("approve", "last", "--answer", "3").out == "3\n"


def test_explain_and_the_journal_have_the_words_of_a_gate(folder: Folder) -> None:
    gate = {"answer": {"type": "boolean"}, "approvers": 2, "expires": "2h", "delegate": "ann"}
    waiting(folder, **gate)
    said = folder.strands("explain", "flow.yaml").out
    assert all(word in said for word in ("boolean", "2 people", "2h", "ann"))
    stored = question(folder)
    assert (stored["schema"], stored["approvers"], stored["on_expiry"], stored["timeout_s"], stored["words"]) == (
        {"type": "boolean"},
        2,
        "reject",
        7200,
        ["yes", "no"],
    )


def test_a_short_time_that_ends_in_a_rejection_takes_no_default(folder: Folder) -> None:
    folder.workflow([{**ASK, "expires": "1s", "default": "yes"}])
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 19, "only a default is waited for"
    assert "# after 1 s it rejects steps.0" in ran.err
    grow_old(folder, 2)
    assert folder.strands("resume", "last").code == 10
