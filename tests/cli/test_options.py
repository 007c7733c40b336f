"""The options that commands share have one seam: they are spelt, explained and passed on alike."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from strands_cli.cli.commands.command_options import RunFlags, with_manner
from strands_cli.cli.program import program
from strands_cli.errors import UsageError

FIELDS = [field.name for field in dataclasses.fields(RunFlags)]
CARRYING = ["run", "resume", "approve", "reject", "rerun"]


def options_of(command: str) -> dict[str, Any]:
    found: Any = get_command(program)
    for word in command.split():
        found = found.commands[word]
    return {option.name: option for option in found.params}


@pytest.mark.parametrize("command", CARRYING)
def test_every_command_that_carries_a_run_has_the_same_options_in_the_same_order(command: str) -> None:
    options, whole = options_of(command), options_of("resume")
    left_out = {"approve": {"record"}, "reject": {"record"}}.get(command, set())
    own = {"out"} if command == "run" else set()
    shared = [name for name in FIELDS if name not in left_out]
    assert [name for name in options if name in FIELDS] == shared
    for name in set(shared) - own:
        assert (options[name].opts, options[name].help) == (whole[name].opts, whole[name].help)


def test_what_is_typed_comes_to_the_command_as_one_value() -> None:
    got: list[RunFlags] = []

    @with_manner(without=("record",))
    def go(*, first: str, manner: RunFlags, last: Annotated[int, typer.Option("--last")] = 3) -> int:
        got.append(manner)
        return last

    assert list(inspect.signature(go).parameters) == [
        "first", *(name for name in FIELDS if name != "record"), "last",
    ]  # fmt: skip
    app = typer.Typer()
    app.command()(go)
    words = ["x", "--out", "o", "--force", "--events", "e", "--json", "-v", "--last", "4"]
    assert get_command(app)(words, standalone_mode=False) == 4
    assert got == [RunFlags(Path("o"), force=True, events="e", as_json=True, verbose=True)]


def test_two_results_for_one_stdout_are_refused() -> None:
    RunFlags(as_json=True, events="events.jsonl").require_one_result()
    with pytest.raises(UsageError, match=r"--json\b.*--events -"):
        RunFlags(as_json=True, events="-").require_one_result()


def test_paths_stay_what_they_are_when_the_directory_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    placed = RunFlags(out=Path("o"), events="e", record=Path("r")).placed()
    assert (placed.out, placed.events, placed.record) == (tmp_path / "o", str(tmp_path / "e"), tmp_path / "r")
    assert (placed.runs_dir, RunFlags(events="-").placed().events) == (None, "-")
