"""Which files the command `watch` looks at beside the workflow and its tools."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from strands_cli.api import UsedFiles

FLOW = """\
version: 2
name: flow
runtime: {provider: replay, recording: turns.yaml}
agents: {reader: {prompt: Read.}}
pattern: {type: chain, config: {steps: [{agent: reader, input: Read.}]}}
"""


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workflow in a folder of its own, with the files of its person in another."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "flows" / "flow.yaml"
    file.parent.mkdir()
    file.write_text(FLOW, encoding="utf-8")
    (file.parent / "turns.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: one}]}\n", encoding="utf-8")
    return file


@pytest.mark.skipif(sys.platform != "linux", reason="the user's folder is elsewhere")
def test_files_that_decide_are_watched_before_they_exist(flow: Path, tmp_path: Path) -> None:
    user = tmp_path / "user" / "strands-cli"
    mine = {str(user / name) for name in ("policy.yaml", "strands-adopted.json")}
    projects = {str(flow.parent / name) for name in ("strands-policy.yaml", "strands-adopted.json", "strands.lock")}
    assert mine | projects <= UsedFiles.of(["run", str(flow)]).places


@pytest.mark.parametrize("command", ["run", "validate", "plan"])
def test_the_files_that_a_workflow_names_are_watched_for_every_command(flow: Path, command: str) -> None:
    assert {str(flow), str(flow.parent / "turns.yaml")} <= UsedFiles.of([command, str(flow)]).places


def test_files_that_options_read_are_watched_and_those_that_they_write_are_not(flow: Path, tmp_path: Path) -> None:
    for name in ("inputs.yaml", "report.html", "events.jsonl"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    words = ["run", str(flow), "--vars-file", "inputs.yaml", "--report", "report.html", "--events=events.jsonl"]
    places = UsedFiles.of(words).places
    assert "inputs.yaml" in places
    assert not {"report.html", "events.jsonl"} & places


def test_a_workflow_with_mistakes_has_the_files_of_the_look_before(flow: Path) -> None:
    before = UsedFiles.of(["run", str(flow)])
    flow.write_text(FLOW.replace("name: flow", "nmae: flow"), encoding="utf-8")
    assert UsedFiles.of(["run", str(flow)], before).places >= before.places
