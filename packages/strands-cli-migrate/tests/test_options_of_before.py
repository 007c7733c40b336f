"""Options of an earlier strands-cli: an error says what to write now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import strands_cli_migrate
from scripts.project_commands import project_commands
from strands_cli.cli.program import run_program

HINTS = Path(strands_cli_migrate.__file__).with_name("strands_commands.json")
OPTIONS = [name for name in json.loads(HINTS.read_text(encoding="utf-8")) if name.startswith("-")]


def flags_of(command: str) -> set[str]:
    first, *rest = command.split()
    shown: Any = project_commands()[first]
    for word in rest:
        shown = shown.commands[word]
    return {flag for option in shown.params for flag in option.opts}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("before", [["run", "flow.yaml"], ["plan"], ["runs", "list"], []])
def test_an_option_of_before_is_answered_with_what_to_write_now(
    option: str, before: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program([*before, option, "x"]) == 2
    fixes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  fix: ")]
    assert len(fixes) == 1
    named = {word.rstrip(":;,") for word in fixes[0].split() if word.startswith("-")}
    known = set[str]().union(*map(flags_of, ("run", "approve", "runs delete", "runs prune")))
    assert named <= known
    assert option not in known, "an option of that name would act"
