"""`strands plugin check` plays recordings and tests of agents, in processes that know nothing of a person."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from flow_kit import AGENT, EXAMPLES, PACKAGE, WORKFLOW, edit, make_bees, replace_lines

from strands_cli.cli.program import run_program
from tests.without import without

pytestmark = pytest.mark.wheels


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bees(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def bees(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "bees"))


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(project: Path, *more: str, code: int = 0) -> Any:
        assert run_program(["plugin", "check", str(project), "--json", *more]) == code
        return json.loads(capsys.readouterr().out)

    return run


def outcomes(document: Any) -> list[tuple[str, str]]:
    return [(one["of"], one["status"]) for one in document["tests"]]


@pytest.mark.parametrize(("name", "passed"), [("strands-flow-your-triage", 3), ("strands-flow-your-minutes", 1)])
def test_the_examples_pass_their_tests(check: Any, name: str, passed: int) -> None:
    document = check(EXAMPLES / name, "--strict")
    assert [one["status"] for one in document["tests"]] == ["passed"] * passed


def test_what_fails_is_named_with_its_reason(check: Any, bees: Path) -> None:
    edit(bees / PACKAGE / "bees.recording.yaml", "Tell a customer: Hive 2", "Tell a customer: Hive 3")
    edit(bees / AGENT, "contains: lime honey", "contains: clover")
    document = check(bees, code=3)
    assert outcomes(document) == [("bees", "failed"), ("reader", "failed"), ("reader", "passed")]
    assert {one["code"] for one in document["findings"]} == {"package-test-failed"}
    assert any("clover" in one["message"] for one in document["findings"])


def test_nothing_runs_where_something_is_wrong(check: Any, bees: Path) -> None:
    edit(bees / WORKFLOW, "agent: writer", "agent: poet")
    assert check(bees, code=3)["tests"] == []


def test_a_test_has_no_key_no_home_and_no_folder_of_the_person(
    check: Any, bees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEES_KEY", "a-key-of-the-person")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    edit(bees / WORKFLOW, "agents:\n", "env: {secrets: [{key: BEES_KEY}]}\nagents:\n")
    edit(
        bees / WORKFLOW,
        "pattern:\n",
        "outputs:\n  artifacts:\n    - {path: bees.md, from: '{{ last_response }}'}\npattern:\n",
    )
    document = check(bees)
    assert "a-key-of-the-person" not in json.dumps(document)
    assert sorted(tmp_path.iterdir()) == before


def test_a_workflow_without_a_recording_is_warned_about(check: Any, bees: Path) -> None:
    edit(bees / WORKFLOW, "  recording: bees.recording.yaml\n", "")
    edit(bees / WORKFLOW, "provider: replay ", "provider: openai\n  model_id: gpt-4.1-mini #")
    document = check(bees)
    assert [one["code"] for one in document["findings"]] == ["package-untested"]
    assert ("bees", "skipped") in outcomes(document)


def test_a_test_that_calls_tools_runs_with_import_alone(check: Any, bees: Path) -> None:
    edit(bees / WORKFLOW, "agents:\n", "tools: {python: [native:calculator]}\nagents:\n")
    edit(bees / "pyproject.toml", "dependencies = []", 'dependencies = ["strands-tool-calculator>=0.1"]')
    edit(
        bees / PACKAGE / "bees.recording.yaml",
        "  steps.1:\n",
        "  steps.1:\n    - calls: [{calculator: {expression: 1 + 1}}]\n",
    )
    replace_lines(bees / PACKAGE / "bees.recording.yaml", "    - when: ", '    - when: "calculator: success"')
    document = check(bees)
    assert outcomes(document)[0] == ("bees", "skipped")
    assert "calculator" in document["tests"][0]["reason"]
    assert outcomes(check(bees, "--import"))[0] == ("bees", "passed")


def test_inputs_of_the_test_are_beside_it(check: Any, bees: Path) -> None:
    replace_lines(bees / WORKFLOW, "  values:")
    replace_lines(bees / WORKFLOW, "    text: The bees")
    assert outcomes(check(bees, code=3))[0] == ("bees", "failed")
    (bees / PACKAGE / "bees.inputs.yaml").write_text("text: The bees of hive 2.\n", encoding="utf-8")
    assert outcomes(check(bees))[0] == ("bees", "passed")


def test_a_package_with_an_agent_is_checked_and_its_tests_are_skipped(tmp_path: Path) -> None:
    bare = without("strands-cli-migrate", tmp_path)
    package = bare.work / "package"
    shutil.copytree(EXAMPLES / "strands-flow-your-triage", package)
    checked = bare.strands("plugin", "check", str(package), "--json")
    document = json.loads(checked.stdout)
    tests = {test["status"] for test in document["tests"] if test["kind"] == "agent"}
    fixes = [(finding["code"], finding["fix"]) for finding in document["findings"]]
    assert (checked.returncode, tests) == (0, {"skipped"}), checked.stdout + checked.stderr
    assert fixes == [("package-untested", "pip install strands-cli-migrate")]
