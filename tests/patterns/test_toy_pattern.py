"""The pattern of a distribution is validated, planned, explained, scaffolded, run and resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.api import Workflow
from strands_cli.cli.program import run_program
from strands_cli.errors import WaitingForPerson
from strands_cli.plugins.new_workflow import NewWorkflow, make_workflow
from strands_cli.workflow.format_schema import workflow_schema
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from tests.distributions import make_distribution


@pytest.fixture(autouse=True)
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the pattern, and write its starter."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    points = "[strands_cli.patterns]\ntalk = tests.patterns.toy.workflow_side:Talk\n"
    make_distribution(tmp_path / "site", "strands-cli-yours", "1.0", points, {})
    with monkeypatch.context() as installed:
        installed.syspath_prepend(str(tmp_path / "site"))
        make_workflow(NewWorkflow("bees", "talk"), tmp_path)
        yield tmp_path / "bees.yaml"
    PATTERNS.learn("talk")
    WorkflowSpec.model_rebuild(force=True)


def strands(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """Run a command; return the JSON document that it prints."""
    assert run_program([*words]) == code
    return json.loads(capsys.readouterr().out)


def spoil(flow: Path, old: str, new: str) -> None:
    text = flow.read_text("utf-8")
    assert old in text
    flow.write_text(text.replace(old, new), "utf-8")


def findings(capsys: pytest.CaptureFixture[str], flow: Path, code: int) -> list[tuple[str, str]]:
    found = strands(capsys, "validate", flow.name, "--format", "json", code=code)
    return [(one["code"], one["pointer"]) for one in found["findings"]]


def test_its_starter_is_valid(capsys: pytest.CaptureFixture[str], flow: Path) -> None:
    assert findings(capsys, flow, 0) == []


@pytest.mark.parametrize(
    ("old", "new", "code", "found"),
    [
        ("times: 2", "tmies: 2", 3, ("unknown-key", "/pattern/config/tmies")),
        ("times: 2", "times: 1", 0, ("no-effect", "/pattern/config/times")),
        ("agent: poet", "agent: poetess", 3, ("unknown-agent", "/pattern/config/speaker/agent")),
        ("{{ line }}", "{{ lines }}", 3, ("unknown-name", "/pattern/config/speaker/input")),
        ("{{ lines[-1] }}", "{{ lines.first }}", 3, ("unknown-name", "/pattern/config/last_word/prompt")),
        ("topic: {", "line: {", 0, ("reserved-name", "/inputs/optional/line")),
        ("type: talk", "type: tlak", 3, ("unknown-pattern", "/pattern/type")),
    ],
)
def test_its_mistakes_are_found(
    old: str, new: str, code: int, found: tuple[str, str], capsys: pytest.CaptureFixture[str], flow: Path
) -> None:
    spoil(flow, old, new)
    assert found in findings(capsys, flow, code)


def test_its_schema_is_offered_to_editors() -> None:
    assert "Talk" in workflow_schema()["$defs"]


def test_it_is_planned(capsys: pytest.CaptureFixture[str], flow: Path) -> None:
    plan = strands(capsys, "plan", flow.name, "--format", "json")
    steps = [(step["key"], step["kind"], step["rendered"]) for step in plan["steps"]]
    assert (plan["pattern"], steps) == ("talk", [("talk.N", "agent", False), ("last_word", "gate", False)])
    assert plan["bounds"]["steps"] is None
    assert run_program(["plan", flow.name, "--format", "mermaid"]) == 0
    assert capsys.readouterr().out.count(" -->") == 2


def test_it_is_explained(capsys: pytest.CaptureFixture[str], flow: Path) -> None:
    explained = strands(capsys, "explain", flow.name, "--json")
    happens = next(part["sentences"] for part in explained["sections"] if part["title"] == "What happens")
    assert (happens[1], explained["pattern"]) == ("It speaks 2 times.", "talk")


def test_it_runs_waits_and_is_resumed(flow: Path) -> None:
    with pytest.raises(WaitingForPerson):
        Workflow.from_file(flow.name).run()
    (run,) = (path.name for path in Path("runs").iterdir())
    ended = Workflow.resume(run, answer=lambda question: "They do.")
    assert (ended.status, ended.response, ended.model_calls) == ("completed", "They do.", 2)
