"""`strands new` writes a workflow of each pattern that is valid and runs at once; `completion` serves shells."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from strands_cli.cli.program import run_program
from strands_cli.workflow.format_schema import workflow_schema
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from tests.cli.strands import STRANDS, Folder


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_new_workflow_runs_as_it_is(pattern: str, folder: Folder) -> None:
    made = folder.strands("new", "first", "--pattern", pattern)
    assert made.out.endswith("next:\n  strands run first.yaml\n")
    assert (folder.strands("validate", "first.yaml").out, made.err) == ("first.yaml: ok\n", "")
    ran = folder.strands("run", "first.yaml", "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["status"]) == (0, "completed"), ran.err
    assert (folder.work / document["artifacts"][0]["path"]).read_text("utf-8").strip()


def test_editors_find_the_schema_beside_it(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert run_program(["new", "flows/first.yaml"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "made flows/first.yaml"
    first_line = (place / "flows/first.yaml").read_text("utf-8").splitlines()[0]
    assert first_line == "# yaml-language-server: $schema=workflow.schema.json"
    assert json.loads((place / "flows/workflow.schema.json").read_text("utf-8")) == workflow_schema()


def test_a_schema_with_the_installed_tools_is_left_as_it_is(place: Path) -> None:
    (place / "workflow.schema.json").write_text("{}", encoding="utf-8")
    assert run_program(["new", "first"]) == 0
    assert (place / "workflow.schema.json").read_text("utf-8") == "{}"


def test_nothing_is_overwritten_without_a_question(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "first.recording.yaml").write_text("mine", encoding="utf-8")
    assert run_program(["new", "first"]) == 12
    assert "first.recording.yaml" in capsys.readouterr().err
    assert not (place / "first.yaml").exists()
    assert run_program(["new", "first", "--force"]) == 0


def test_with_a_provider_there_is_no_recording(place: Path) -> None:
    assert run_program(["new", "first", "--provider", "openai", "--model", "gpt: 4"]) == 0
    assert sorted(path.name for path in place.iterdir()) == ["first.yaml", "workflow.schema.json"]
    text = (place / "first.yaml").read_text("utf-8")
    assert '  provider: openai\n  model_id: "gpt: 4"\n' in text
    assert run_program(["validate", "first.yaml"]) == 0


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["a b"], 2, "'a b'"),
        (["-1"], 2, "error: No such option: -1\n  fix: see `strands new --help`"),
        (["1.5"], 2, "1.5"),
        (["first.json"], 2, "first.yaml"),
        (["first", "--provider", "opnai"], 2, "'openai'"),
        (["first", "--provider", "replay"], 2, "'replay'"),
        (["first", "--provider", "openai"], 2, "--model NAME"),
        (["first", "--model", "m"], 2, "--provider"),
        (["first", "--pattern", "chian"], 2, "'chian'"),
        (["file/first"], 12, "File exists"),
    ],
)
def test_what_cannot_be_meant_is_reported_and_nothing_written(
    command: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    (place / "file").write_text("", encoding="utf-8")
    assert run_program(["new", *command]) == code
    assert said in capsys.readouterr().err
    assert [path.name for path in place.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["yes", "No", "null", "on"])
def test_a_name_that_yaml_reads_as_something_else_stays_text(name: str) -> None:
    assert run_program(["new", name]) == 0
    assert run_program(["validate", f"{name}.yaml"]) == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_shell_gets_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["completion", shell]) == 0
    assert "_STRANDS_COMPLETE" in capsys.readouterr().out


def test_bash_completes_commands_options_and_values() -> None:
    program = """
        eval "$(strands completion bash)"
        complete_it() {
            COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strands_completion strands; echo "${COMPREPLY[@]}"
        }
        complete_it strands val
        complete_it strands run --prov
        complete_it strands new --pattern ro
    """
    environ = {**os.environ, "PATH": f"{Path(STRANDS).parent}:{os.environ['PATH']}"}
    ran = subprocess.run(["bash", "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["validate", "--provider", "routing"]
    assert ran.stderr == ""
