"""What a program is handed of a run holds no secret either: events, answers taken over, artifacts, results, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.api import Event
from strands_cli.engine.plan_execution import redacted_errors
from strands_cli.errors import ArtifactError, Finding
from strands_cli.events import ArtifactWritten, HumanAnswered, HumanAsked
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS
from strands_cli.secrets.redactor import MARK, Redactor
from strands_cli.workflow.builder import agent, chain, gate

SECRET = "s3cr3t-0123456789"
# Nothing that is written holds the value, and yet the workflow comes to say it.
BUILT = "{{ 's3cr3t-01' ~ '23456789' }}"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("MY_TOKEN", SECRET)
    (tmp_path / "turns.yaml").write_text("recording: 1\nsteps: {}\n")


def asking(path: str) -> Workflow:
    artifacts = [{"path": path, "from": f"{BUILT} {{{{ last_response }}}} {{{{ last_response | length }}}}"}]
    sections: dict[str, Any] = {"env": {"secrets": [{"key": "MY_TOKEN"}]}, "outputs": {"artifacts": artifacts}}
    runtime = {"provider": "replay", "recording": "turns.yaml"}
    return Workflow.build(
        "test", runtime=runtime, agents={"a": agent("You act.")}, pattern=chain(gate(f"Is it {BUILT}?")), **sections
    )


def test_events_results_and_files_are_handed_over_without_secrets(tmp_path: Path) -> None:
    events: list[Event] = []
    result = asking(f"{BUILT}.txt").run(answer=lambda _: f"yes, {SECRET}", on_event=events.append)
    assert result.response == f"yes, {MARK}"
    [asked] = [event for event in events if isinstance(event, HumanAsked)]
    [answered] = [event for event in events if isinstance(event, HumanAnswered)]
    [written] = [event for event in events if isinstance(event, ArtifactWritten)]
    assert (asked.prompt, answered.answer) == (f"Is it {MARK}?", f"yes, {MARK}")
    assert Path(written.path).name == f"{MARK}.txt"
    assert (tmp_path / "artifacts" / f"{MARK}.txt").read_text() == f"{MARK} yes, {MARK} 13"
    held = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert held == []
    assert SECRET not in str(events)


def test_an_error_is_raised_without_secrets() -> None:
    with pytest.raises(ArtifactError) as raised:
        asking(f"{{% if last_response %}}../{{% endif %}}{BUILT}.txt").run(answer=lambda _: True)
    assert MARK in raised.value.message
    assert SECRET not in f"{raised.value} {raised.value.findings} {raised.value.fix}"


def test_an_error_loses_its_secrets_whatever_it_is_made_of() -> None:
    with pytest.raises(ArtifactError) as raised, redacted_errors(Redactor([SECRET])):
        raise ArtifactError(f"no {SECRET}", findings=[Finding(ARTIFACT_EXISTS, SECRET, fix=SECRET)], fix=SECRET)
    error = raised.value
    assert (str(error), error.message, error.fix) == (f"no {MARK}", f"no {MARK}", MARK)
    assert [(finding.message, finding.fix) for finding in error.findings] == [(MARK, MARK)]
    with pytest.raises(ValueError, match="12345") as foreign, redacted_errors(Redactor([SECRET])):
        raise ValueError(12345, SECRET)
    assert foreign.value.args == (12345, MARK)
