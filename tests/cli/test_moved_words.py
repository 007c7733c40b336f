"""Few commands are at the top of the help; the earlier words for the others answer with the present ones."""

from __future__ import annotations

import json
import re

import pytest

from scripts.project_commands import project_commands
from strands_cli.cli.program import run_program
from strands_cli.default_parts import MOVED, PROMISED
from tests.cli.strands import Folder

MOST_AT_THE_TOP = 20
# With what an earlier word is used.
WORDS = {
    "list-supported": ["--json"],
    "schema": ["--plain"],
    "store": ["check", "--json"],
    "list-workflows": ["--json"],
    "sessions": ["list", "--json"],
    "list-tools": ["--json"],
    "keys": ["list", "--json"],
    "trust": ["no-such.yaml", "--json"],
    "queue": ["status", "--json"],
}


def test_the_whole_installation_has_few_commands_at_the_top(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["--help"]) == 0
    listed = re.findall(r"^  ([a-z][\w-]*)  ", capsys.readouterr().out, flags=re.M)
    assert set(listed) < set(project_commands())
    assert {"ask", "batch", "doctor", "run", "ui", "workers"} < set(listed)
    assert len(listed) <= MOST_AT_THE_TOP


@pytest.mark.parametrize("earlier", MOVED)
def test_an_earlier_word_answers_with_the_present_one(earlier: str, folder: Folder) -> None:
    words = WORDS.get(earlier, ["--help"])
    asked = folder.strands(*earlier.split(), *words)
    present = folder.strands(*MOVED[earlier].split(), *words)
    assert (asked.code, asked.out) == (present.code, present.out)
    line = "" if earlier in PROMISED else f"`strands {earlier}` is now `strands {MOVED[earlier]}`\n"
    assert asked.err == line + present.err
    if "--json" in words:
        assert json.loads(asked.out)["format"] == 1


def test_a_word_that_is_nearly_an_earlier_one_is_answered_with_the_present_one(folder: Folder) -> None:
    ran = folder.strands("rerum", "last")
    assert (ran.code, "strands runs rerun" in ran.err) == (2, True)
