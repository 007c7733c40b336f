"""Inputs whose text is in a file or comes from standard input, and rows that are left out."""

from __future__ import annotations

import json

import pytest

from tests.cli.strands import Folder

FLOW = """version: 2
name: n
inputs: {required: {text: string}, optional: {n: integer}}
pattern: {type: chain, config: {steps: [{tool: native:calculator, input: {expression: "1 + 1"}}]}}
"""
TEXT = "first line\n  second: {{ no }} 'é'\n"


@pytest.fixture(autouse=True)
def _flow(folder: Folder) -> None:
    folder.trusts_every_workflow()
    (folder.work / "flow.yaml").write_text(FLOW)
    (folder.work / "notes.txt").write_text(TEXT)


def text_of(folder: Folder, *words: str, given: str | None = None) -> str:
    ran = folder.strands("plan", "flow.yaml", "--json", *words, given=given)
    assert ran.code == 0, ran.err
    return str(ran.document["inputs"]["text"])


def test_a_text_comes_from_a_file_or_from_stdin(folder: Folder) -> None:
    assert text_of(folder, "--var", "text=@notes.txt") == TEXT
    assert text_of(folder, "--var", "text=-", given=TEXT) == TEXT
    assert text_of(folder, "--var", "text=@-", given=TEXT) == TEXT
    assert text_of(folder, "--var", "text=@@bob") == "@bob"
    assert text_of(folder, "--var", "text=a@b=c") == "a@b=c"
    assert text_of(folder, "--vars-file", "-", given='{"text": "x"}') == "x"


def test_the_fix_for_a_file_that_is_not_there_gives_the_text_itself(folder: Folder) -> None:
    ran = folder.strands("plan", "flow.yaml", "--var", "text=@bob")
    assert (ran.code, ran.codes) == (2, ["bad-var"]), ran.err
    words = ran.err.partition("at sign: ")[2].split()
    assert text_of(folder, *words[:2]) == "@bob"
    (folder.work / "binary").write_bytes(b"\xff\xfe\x00")
    assert folder.strands("plan", "flow.yaml", "--var", "text=@binary").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-", "--var", "text=-"),
        ("plan", "flow.yaml", "--var", "text=-", "--var", "n=-"),
        ("plan", "flow.yaml", "--var", "text=-", "--vars-file", "-"),
        ("batch", "run", "flow.yaml", "-", "--format", "csv", "--var", "text=-"),
        ("batch", "run", "-", "-", "--format", "csv"),
    ],
)
def test_two_readers_of_stdin_are_an_error(folder: Folder, words: tuple[str, ...]) -> None:
    ran = folder.strands(*words, given=FLOW)
    assert ran.code == 2, ran.err
    assert "stdin" in ran.err


def test_a_bad_row_is_left_out_and_counted(folder: Folder) -> None:
    (folder.work / "rows.csv").write_text("text,n\na,1\nb,x\nc,1,2\nd,4\n")
    start = ("batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl")
    assert folder.strands(*start).code == 3
    ran = folder.strands(*start, "--skip-bad-rows", "--json")
    assert ran.code == 0, ran.err
    assert (ran.document["rows"]["total"], ran.document["rows"]["left_out"]) == (2, 2)
    assert ran.codes == ["row-input", "bad-row"]
    lines = [json.loads(line) for line in (folder.work / "out.jsonl").read_text().splitlines()]
    assert [(one["row"], one["line"], one["status"]) for one in lines] == [
        (1, 2, "completed"),
        (4, 5, "completed"),
        (2, 3, "left-out"),
        (3, 4, "left-out"),
    ]
    again = folder.strands("batch", "resume", "n", "-o", "again.jsonl")
    assert again.code == 0, again.err
    assert "2 left out" in again.err
    assert len((folder.work / "again.jsonl").read_text().splitlines()) == 4
    assert folder.strands("batch", "status", "n", "--json").document["rows"]["left_out"] == 2
