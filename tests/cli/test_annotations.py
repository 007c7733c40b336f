"""`strands validate` marks lines for GitHub Actions and writes SARIF, whatever a file's text holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from strands_cli import __version__
from strands_cli.cli.program import run_program
from strands_cli.cli.terminal.workflow_summary import github_line, sarif_document
from strands_cli.errors import Finding, Where
from strands_cli.workflow.findings import BAD_VALUE
from strands_cli.workflow.validation_errors import UNKNOWN_KEY
from tests.workflow.spoiled import CHAIN, HEAD

SOUND = HEAD.replace("replay}", "openai, model_id: m}") + CHAIN
WRONG = SOUND.replace("openai,", "openai, temprature: 1,")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sound.yaml").write_text(SOUND, encoding="utf-8")
    (tmp_path / "wr ong.yaml").write_text(WRONG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_github_gets_one_command_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["validate", "sound.yaml", "wr ong.yaml", "--format", "github"]) == 3
    shown = capsys.readouterr()
    place = "::error file=wr ong.yaml,line=3,col=29,title=unknown-key::"
    assert re.fullmatch(rf"{place}`temprature` .*`runtime`%0Afix: .*`temperature`.*\n", shown.out)
    assert shown.err == ""


def test_text_of_a_file_becomes_neither_a_command_nor_a_property() -> None:
    hostile = Finding(BAD_VALUE, "100%\n::add-mask::x\r", Where("a,line=9::b.yaml", 1, None))
    fix = f"%0Afix: {hostile.fix}"
    assert github_line(hostile) == (
        f"::error file=a%2Cline=9%3A%3Ab.yaml,line=1,title=bad-value::100%25%0A::add-mask::x%0D{fix}"
    )
    assert github_line(Finding(BAD_VALUE, "here", severity="warning")) == f"::warning title=bad-value::here{fix}"


def test_nothing_wrong_gives_an_empty_github_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["validate", "sound.yaml", "--format", "github"]) == 0
    assert capsys.readouterr().out == ""


def test_sarif_names_the_rule_the_place_and_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["validate", "sound.yaml", "wr ong.yaml", "--format", "sarif"]) == 3
    document = json.loads(capsys.readouterr().out)
    (ran,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert ran["tool"]["driver"]["name"] == "strands"
    assert ran["tool"]["driver"]["version"] == __version__
    assert [rule["id"] for rule in ran["tool"]["driver"]["rules"]] == ["unknown-key"]
    (result,) = ran["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("unknown-key", 0, "error")
    assert "temperature" in result["message"]["text"]
    (location,) = result["locations"]
    assert location == {
        "physicalLocation": {
            "artifactLocation": {"uri": "wr%20ong.yaml"},
            "region": {"startLine": 3, "startColumn": 29},
        },
        "logicalLocations": [{"fullyQualifiedName": "/runtime/temprature", "kind": "member"}],
    }


def test_sarif_of_nothing_wrong_is_still_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["validate", "sound.yaml", "--format", "sarif"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"] == []


def test_sarif_keeps_each_rule_once_and_takes_findings_without_a_place(tmp_path: Path) -> None:
    findings = [
        Finding(UNKNOWN_KEY, "one", Where(str(tmp_path / "x.yaml"))),
        Finding(BAD_VALUE, "two"),
        Finding(UNKNOWN_KEY, "three", Where("x.yaml", 2)),
    ]
    (ran,) = sarif_document(findings, "1")["runs"]
    rules = [rule["id"] for rule in ran["tool"]["driver"]["rules"]]
    assert rules == ["bad-value", "unknown-key"]
    assert [rules[result["ruleIndex"]] for result in ran["results"]] == ["unknown-key", "bad-value", "unknown-key"]
    assert "locations" not in ran["results"][1]
    places = [result["locations"][0]["physicalLocation"] for result in (ran["results"][0], ran["results"][2])]
    assert places[0]["artifactLocation"]["uri"].startswith("file:///")
    assert "region" not in places[0]
    assert places[1]["region"] == {"startLine": 2}
