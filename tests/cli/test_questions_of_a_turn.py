"""Questions about several calls of one model turn: those that do not depend on each other wait together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import pytest

from tests.cli.strands import Folder, Ran

WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write", "native:file_read"]}}


def write(path: str, content: str = "x") -> dict[str, dict[str, str]]:
    return {"file_write": {"path": path, "content": content}}


def turn(folder: Folder, calls: Sequence[Mapping[str, object]], *options: str) -> Ran:
    """Run an agent whose model asks for all of these calls in one turn."""
    folder.workflow(
        [{"agent": "writer", "input": "go"}], {"steps.0": [{"calls": calls}, {"text": "done"}]}, agents=WRITER
    )
    return folder.strands("run", "flow.yaml", "--json", *options)


def keys(ran: Ran) -> list[str]:
    return [re.sub(r"steps.0/tool.|/approval", "", one["key"]) for one in ran.document["questions"]]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_all_questions_of_a_turn_wait_at_once_and_every_printed_command_answers_one(
    folder: Folder, order: list[int]
) -> None:
    ran = turn(folder, [write("a.txt"), write("b.txt"), write("c.txt")])
    assert (ran.code, keys(ran)) == (19, ["0.file_write", "1.file_write", "2.file_write"])
    commands = re.findall(r"strands (approve .*)", ran.document["error"]["fix"])
    assert len(commands) == 3
    answered = [folder.strands(*commands[one].split()) for one in order]
    assert [one.code for one in answered] == [19, 19, 0], [one.err for one in answered]
    assert answered[-1].out == "done\n"
    assert sorted(path.name for path in folder.work.glob("?.txt")) == ["a.txt", "b.txt", "c.txt"]


def test_a_call_that_depends_on_one_that_waits_is_asked_about_after_it(folder: Folder) -> None:
    reads = {"file_read": {"path": "a.txt"}}
    ran = turn(folder, [write("a.txt"), write("a.txt", "again"), reads, write("b.txt")])
    assert keys(ran) == ["0.file_write", "3.file_write"]
    for key in ("0", "3"):
        asked = folder.strands("approve", "last", f"steps.0/tool.{key}.file_write", "--json")
    assert (asked.code, keys(asked)) == (19, ["1.file_write"])
    assert folder.strands("approve", "last").code == 0
    shown = folder.strands("runs", "show", "last", "steps.0/tool.2.file_read", "--json")
    assert "again" in json.dumps(shown.document)


def test_a_refusal_of_one_call_of_a_turn_leaves_the_others(folder: Folder) -> None:
    assert turn(folder, [write("a.txt"), write("b.txt")]).code == 19
    assert folder.strands("reject", "last", "steps.0/tool.0.file_write").code == 19
    assert folder.strands("approve", "last").code == 0
    assert [path.name for path in folder.work.glob("?.txt")] == ["b.txt"]


def test_calls_that_a_rule_denies_are_not_asked_about(folder: Folder) -> None:
    folder.write("strands-policy.yaml", 'version: 1\nrules: [{deny: "file_write(path=b.txt)"}]\n')
    ran = turn(folder, [write("a.txt"), write("b.txt"), write("c.txt")])
    assert keys(ran) == ["0.file_write", "2.file_write"]
