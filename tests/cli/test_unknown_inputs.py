"""A value for an input that nothing declares or reads is an error before anything runs; findings reach every reader."""

from __future__ import annotations

import json

import pytest

import strands_cli.api as api
from strands_cli.errors import StrandsCliError
from tests.cli.strands import Folder

DAYS = {"inputs": {"optional": {"days": {"type": "integer", "default": 7}}}}
STEP = {"agent": "writer", "input": "{{ days }}"}
TURNS = {"steps.0": [{"text": "hello"}]}


@pytest.fixture
def flow(folder: Folder) -> Folder:
    folder.workflow([STEP], TURNS, **DAYS)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("run", "flow.yaml", "--var", "day=30", "--var", "dya=1"),
        ("run", "flow.yaml", "--vars-file", "vars.yaml"),
        ("run", "flow.yaml", "--var", "Days=1", "--var", "unrelated=1"),
        ("plan", "flow.yaml", "--var", "day=30", "--var", "x=1"),
    ],
)
def test_each_unknown_name_is_reported_with_the_nearest_one(flow: Folder, command: tuple[str, ...]) -> None:
    flow.write("vars.yaml", {"day": 3, "dayz": 4})
    ran = flow.strands(*command, "-q" if command[0] == "run" else "--no-plugins")
    assert ran.codes == ["unknown-input", "unknown-input"]
    assert "'days'" in ran.err
    if command[0] == "run":
        assert ran.code == 2
        assert not flow.runs.exists()


def test_a_name_that_a_template_reads_works_with_a_warning_which_quiet_and_json_have(folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": "{{ days }} {{ extra }}"}], TURNS, **DAYS)
    ran = folder.strands("run", "flow.yaml", "--var", "extra=30", "-q", "--json")
    assert (ran.code, ran.codes) == (0, ["unknown-input"])
    assert [one["code"] for one in ran.document["findings"]][-1:] == ["unknown-input"]
    asked = folder.strands("runs", "show", "last", "--full").out
    assert "7 30" in asked


@pytest.mark.parametrize(
    "text",
    ["{{ extra | default('7') }}", "{% if extra is defined %}{{ extra }}{% endif %}", "{{ (extra or {}).x | d(30) }}"],
)
def test_a_name_that_may_be_missing_is_read_too(text: str, folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": f"{{{{ days }}}} {text}"}], TURNS, **DAYS)
    ran = folder.strands("plan", "flow.yaml", "--var", "extra=30", "--no-plugins")
    assert (ran.code, ran.codes) == (0, ["unknown-input"])


@pytest.mark.parametrize("text", ["{% for day in [1] %}{{ day }}{% endfor %}", "{% set day = 1 %}{{ day }}", "day"])
def test_a_name_of_the_template_itself_is_not_read(text: str, folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": f"{{{{ days }}}} {text}"}], TURNS, **DAYS)
    ran = folder.strands("run", "flow.yaml", "--var", "day=30")
    assert (ran.code, ran.codes) == (2, ["unknown-input"])


def test_a_workflow_may_take_it_with_a_warning(folder: Folder) -> None:
    folder.workflow([STEP], TURNS, inputs={**DAYS["inputs"], "allow_undeclared": True})
    ran = folder.strands("run", "flow.yaml", "--var", "day=30")
    assert (ran.code, "unknown-input" in ran.codes) == (0, True)


def test_the_python_api_refuses_it(flow: Folder) -> None:
    workflow = api.Workflow.from_file(flow.work / "flow.yaml")

    with pytest.raises(StrandsCliError) as caught:
        workflow.run({"day": 3}, runs_dir=flow.runs)
    assert caught.value.exit_code == 2
    assert [finding.code for finding in caught.value.findings] == ["unknown-input"]


def test_a_stored_run_continues_when_its_corrected_file_or_its_new_run_lacks_an_input(folder: Folder) -> None:
    gate = {"type": "hitl", "prompt": "Go on?"}
    folder.workflow([gate, {"agent": "writer", "input": "go"}], {"steps.1": [{"text": "hello"}]}, **DAYS)
    assert folder.strands("run", "flow.yaml", "--var", "days=30").code == 19
    folder.workflow([gate, {"agent": "writer", "input": "go"}], {"steps.1": [{"text": "hello"}]})
    approved = folder.strands("approve", "last", "--no-resume")
    assert approved.code in (0, 19), approved.err
    resumed = folder.strands("resume", "last", "--spec", "flow.yaml")
    assert resumed.code == 0, resumed.err
    again = folder.strands("runs", "rerun", "last", "--from", "steps.1")
    assert again.code == 0, again.err


def test_json_of_a_run_that_fails_has_the_findings_too(folder: Folder) -> None:
    folder.workflow([{"tool": "native:file_read", "input": {"path": "{{ extra }}"}}], **DAYS)
    ran = folder.strands("run", "flow.yaml", "--var", "extra=1", "--json", "-q")
    assert ran.code != 0
    assert [one["code"] for one in json.loads(ran.out)["findings"]][-1:] == ["unknown-input"]
