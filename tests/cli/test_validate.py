"""`strands validate` reports everything at once and exits with the code scripts rely on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from strands_cli.cli.program import run_program
from strands_cli.workflow.format_schema import workflow_schema
from tests.workflow.spoiled import CHAIN, HEAD

SOUND = HEAD.replace("replay}", "openai, model_id: m}") + CHAIN
WRONG = SOUND.replace("openai,", "openai, temprature: 1,").replace("{agent: beta}", "{agent: betta}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sound.yaml").write_text(SOUND, encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text(WRONG, encoding="utf-8")
    (tmp_path / "broken.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "warned.yaml").write_text(SOUND.replace("{{ topic }}", "{{ topik }}"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_program(["validate", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.usefixtures("folder")
def test_a_sound_workflow_is_ok_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "sound.yaml") == (0, "sound.yaml: ok\n", "")


@pytest.mark.usefixtures("folder")
def test_warnings_do_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "warned.yaml")
    assert (code, out) == (0, "warned.yaml: ok, 1 warning\n")
    assert "warning[undeclared-variable]" in err


@pytest.mark.usefixtures("folder")
def test_all_findings_of_all_files_are_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "wrong.yaml", "sound.yaml", "broken.yaml")
    assert code == 3
    assert out == "sound.yaml: ok\n"
    assert re.search(r"^error\[unknown-key\]: `temprature` .*`runtime`", err, re.MULTILINE)
    assert "--> wrong.yaml:3:29  (/runtime/temprature)" in err
    assert re.search(r"^error\[unknown-agent\]: .*'betta'", err, re.MULTILINE)
    assert "error[not-yaml]" in err
    assert re.search(r"^wrong\.yaml: 2 ", err, re.MULTILINE)


@pytest.mark.usefixtures("folder")
def test_json_is_one_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "wrong.yaml", "sound.yaml", "--format", "json")
    assert (code, err) == (3, "")
    answer: dict[str, Any] = json.loads(out)
    assert [(file["file"], file["valid"]) for file in answer["files"]] == [("wrong.yaml", False), ("sound.yaml", True)]
    first = answer["findings"][0]
    assert "`temperature`" in first["fix"]
    assert {key: first[key] for key in ("code", "severity", "file", "line", "column", "pointer")} == {
        "code": "unknown-key",
        "severity": "error",
        "file": "wrong.yaml",
        "line": 3,
        "column": 29,
        "pointer": "/runtime/temprature",
    }


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_there_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "nowhere.yaml")
    assert code == 2
    assert "error[file-unreadable]" in err


@pytest.mark.usefixtures("folder")
def test_the_gravest_file_decides_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "nowhere.yaml", "wrong.yaml", "sound.yaml")[0] == 3
    assert run(capsys, "sound.yaml", "nowhere.yaml")[0] == 2


def test_a_workflow_is_read_from_standard_input(folder: Path) -> None:
    command = [sys.executable, "-m", "strands_cli", "validate", "-"]
    done = subprocess.run(command, input=WRONG, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 3
    assert "--> <stdin>:3:29" in done.stderr


def test_foreign_control_characters_do_not_reach_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "hostile.yaml").write_text(SOUND + 'outptus: 1\n"\\x1b]0;x\\x07": 1\n', encoding="utf-8")
    code, out, err = run(capsys, "hostile.yaml")
    assert code == 3
    assert "\x1b" not in out + err
    assert "\\x1b" in err


@pytest.mark.parametrize(
    "words", [["sound.yaml"], ["warned.yaml", "wrong.yaml"], ["broken.yaml"], ["missing.yaml"], ["."]]
)
def test_files_checked_without_typer_are_reported_as_with_it(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "strands_cli", "validate", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert (done.returncode, done.stdout, done.stderr) == run(capsys, *words)


def test_validating_a_chain_imports_no_sdk_no_schema_library_and_no_event_loop(folder: Path) -> None:
    script = (
        "import sys; from strands_cli.cli.program import run_program; code = run_program(['validate', 'sound.yaml']);"
        "print(code, sorted({'strands', 'boto3', 'asyncio', 'rich', 'jsonschema', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_the_schema_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["workflows", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["required"] == ["version", "name", "pattern"]


def test_the_schema_offers_the_installed_tools_and_checks_their_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["workflows", "schema"]) == 0
    filled = json.loads(capsys.readouterr().out)
    validator = jsonschema.Draft202012Validator({"$ref": "#/$defs/ToolEntry", "$defs": filled["$defs"]})
    word, _ = filled["$defs"]["ToolEntry"]["anyOf"]
    assert "native:current_time" in word["anyOf"][0]["enum"]
    assert validator.is_valid("native:current_time")
    assert validator.is_valid("my_package.tools:other")
    assert validator.is_valid({"tool": "native:current_time", "config": {"default_timezone": "Europe/Paris"}})
    assert not validator.is_valid({"tool": "native:current_time", "config": {"timezone": 4}})
    assert not validator.is_valid({"tool": "native:calculator", "config": {"anything": 1}})


def test_the_plain_schema_is_the_committed_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["workflows", "schema", "--plain"]) == 0
    assert json.loads(capsys.readouterr().out) == workflow_schema()
