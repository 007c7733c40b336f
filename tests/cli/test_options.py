"""The options that commands share have one seam: they are spelt, explained and passed on alike."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from scripts.project_commands import project_commands
from strands_cli.cli.commands.command_options import Chosen, RunFlags, with_run_options
from strands_cli.errors import UsageError
from strands_cli.planning.run_request import default_of, options
from tests.cli.strands import Folder

FLAGS = [field.name for field in dataclasses.fields(RunFlags)]
AGAIN = [
    *("out_dir", "force", "allow", "yes", "deny", "fail_on_denied", "detach", "record", "runs_dir", "store"),
    *("policy", "locked", "no_plugins", "trace_hooks"),
]
CONTINUING = ["resume", "approve", "reject", "runs rerun"]


def options_of(command: str) -> dict[str, Any]:
    first, *rest = command.split()
    found: Any = project_commands()[first]
    for word in rest:
        found = found.commands[word]
    return {option.name: option for option in found.params}


@pytest.mark.parametrize("command", ["run", "plan", "workflows agent run", *CONTINUING])
def test_every_option_has_the_words_and_the_help_of_its_field(command: str) -> None:
    shown = options_of(command)
    for name in set(shown) & set(options()):
        one = options()[name]
        assert (*shown[name].opts, *shown[name].secondary_opts) == one.flags, name
        assert shown[name].help in (one.help, one.help_again)


@pytest.mark.parametrize("command", CONTINUING)
def test_commands_that_continue_a_run_have_the_same_options_in_the_same_order(command: str) -> None:
    left_out = {"approve": {"record"}, "reject": {"record"}}.get(command, set())
    wanted = [name for name in [*AGAIN, *FLAGS] if name not in left_out]
    assert [name for name in options_of(command) if name in wanted] == wanted


def test_the_commands_that_start_a_run_have_every_option_of_the_request() -> None:
    for command in ("run", "workflows agent run"):
        assert set(options()) <= set(options_of(command))


def test_what_is_typed_comes_to_the_command_as_values() -> None:
    got: list[tuple[dict[str, Any], RunFlags]] = []

    @with_run_options(again=True, without=("record",))
    def go(*, first: str, chosen: Chosen, flags: RunFlags, last: Annotated[int, typer.Option("--last")] = 3) -> int:
        got.append(({name: value for name, value in chosen.typed.items() if value}, flags))
        return last

    shared = [name for name in AGAIN if name != "record"]
    assert list(inspect.signature(go).parameters) == ["first", *shared, *FLAGS, "last"]
    app = typer.Typer()
    app.command()(go)
    words = ["x", "--out", "o", "--force", "--events", "e", "--json", "-v", "--last", "4"]
    assert get_command(app)(words, standalone_mode=False) == 4
    assert got == [({"out_dir": Path("o"), "force": True}, RunFlags(events="e", as_json=True, verbose=True))]


def test_what_continues_a_run_has_no_default_of_its_own_so_the_stored_value_counts() -> None:
    @with_run_options(again=True)
    def go(*, chosen: Chosen) -> int:
        assert set(chosen.typed.values()) == {None}
        return 4

    app = typer.Typer()
    app.command()(go)
    assert get_command(app)([], standalone_mode=False) == 4


def test_a_typed_value_changes_a_stored_one_also_where_it_is_empty() -> None:
    changes = Chosen({"out_dir": None, "force": False, "allow": []}).changes()
    assert "out_dir" not in changes
    assert (changes["force"], changes["allow"]) == (False, ())


def test_the_alias_of_resume_changes_what_was_typed_alone() -> None:
    typed = {name: list(value) if isinstance(value := default_of(name), tuple) else value for name in options()}
    assert Chosen(typed).again() == Chosen({})
    assert Chosen({**typed, "force": True, "provider": "openai"}).again() == Chosen({"force": True})


def test_two_results_for_one_stdout_are_refused() -> None:
    RunFlags(as_json=True, events="events.jsonl").require_one_result()
    with pytest.raises(UsageError, match=r"--json\b.*--events -"):
        RunFlags(as_json=True, events="-").require_one_result()


def test_paths_stay_what_they_are_when_the_directory_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    changes = Chosen({"out_dir": Path("o"), "record": Path("r"), "runs_dir": Path("runs"), "force": None}).changes()
    assert (changes["out_dir"], changes["record"]) == (tmp_path / "o", tmp_path / "r")
    assert changes["runs_dir"] == tmp_path / "runs"
    assert "force" not in changes
    assert RunFlags(events="e").placed().events == str(tmp_path / "e")
    assert RunFlags(events="-").placed().events == "-"


@pytest.mark.parametrize("number", ["0", "-5"])
@pytest.mark.parametrize("verb", [["run", "flow.yaml"], ["plan", "flow.yaml"], ["batch", "flow.yaml", "rows.csv"]])
def test_an_answer_without_tokens_cannot_be_asked_for(folder: Folder, verb: list[str], number: str) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "done"}]})
    folder.write("rows.csv", "topic\n")
    ran = folder.strands(*verb, "--max-tokens", number)
    assert ran.code == 2
    assert "--max-tokens" in ran.err
