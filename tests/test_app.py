from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.config import Settings
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.errors import (
    ArtifactError,
    InvalidInput,
    RunFailed,
    RunRecordError,
    WaitingForPerson,
)
from strands_cli.events import Event, RunStarted, RunWarning
from strands_cli.planning.data_flow.secret_values import read_secrets
from strands_cli.planning.environment import workspace_of
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy
from strands_cli.workflow.recording_file import load_recording
from strands_cli.yaml_files.document_reader import read_document
from tests.fakes.ports import ScriptedHuman
from tests.wordings import Wording

FLOW = """
version: 2
name: flow
runtime: {provider: replay, recording: r.yaml}
agents: {writer: {prompt: You write.}}
pattern:
  type: chain
  config:
    steps:
      - {agent: writer, input: go}
      - {type: hitl, prompt: Good?}
      - {agent: writer, input: "again, {{ hitl_response }}"}
outputs: {artifacts: [{path: a.txt, from: "{{ last_response }}"}]}
"""
RECORDING = """
recording: 1
steps:
  steps.0: [{when: go, text: first, usage: [3, 4]}]
  steps.2: [{when: "again, shorter", text: second, usage: [5, 6]}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "r.yaml").write_text(RECORDING)
    return tmp_path


def run(folder: Path, answers: Any = ("shorter",), **given: Any) -> tuple[Any, list[Event]]:
    settings = Settings(folder / "runs")
    options = RunRequest(out_dir=folder / "out", **given)
    events: list[Event] = []
    request = replace(options, runs_dir=settings.runs_dir)
    planned = app.plan(folder / "flow.yaml", request, settings=settings)
    result = asyncio.run(app.run(planned, request, ScriptedHuman(answers), events.append))
    return result, events


def journal_of(folder: Path) -> SqliteJournal:
    (directory,) = (folder / "runs").iterdir()
    return SqliteJournal.open(directory)


def test_a_run_leaves_its_record_its_artifact_and_a_recording_that_plays_it(folder: Path) -> None:
    result, events = run(folder, record=folder / "made.yaml")
    assert (result.response, result.usage.total_tokens, result.model_calls) == ("second", 18, 2)
    assert (folder / "out" / "a.txt").read_text() == "second"
    assert isinstance(events[0], RunStarted)
    journal = journal_of(folder)
    assert [row.key for row in journal.rows()] == [
        "steps.0",
        "steps.0/model.0",
        "steps.1",
        "steps.2",
        "steps.2/model.0",
        "artifacts",
    ]
    assert (journal.get("id"), journal.get("status")) == (result.run_id, "completed")
    assert journal.get("text") == FLOW
    journal.close()
    made, _ = load_recording(read_document(folder / "made.yaml"))
    assert made == load_recording(read_document(folder / "r.yaml"))[0]
    (folder / "made.yaml").replace(folder / "r.yaml")
    assert run(folder, force=True)[0].response == "second"


def test_a_run_that_waits_is_recorded_as_far_as_it_came(folder: Path) -> None:
    from strands_cli.engine.journal.journal_rows import Answer

    with pytest.raises(WaitingForPerson):
        run(folder, [Answer("waiting")], record=folder / "made.yaml")
    journal = journal_of(folder)
    assert journal.get("status") == "waiting"
    journal.close()
    made, _ = load_recording(read_document(folder / "made.yaml"))
    assert made is not None
    assert list(made.steps) == ["steps.0"]


def test_a_recording_that_cannot_be_written_does_not_hide_why_the_run_failed(folder: Path) -> None:
    target = folder / "made.yaml"

    class Meddler(ScriptedHuman):
        async def ask(self, question: Any) -> Any:
            target.write_text("mine")
            return await super().ask(question)

    planned = app.plan(folder / "flow.yaml", settings=Settings(folder / "runs"))
    events: list[Event] = []
    for answer, error in (("something else", RunFailed), ("shorter", ArtifactError)):
        target.unlink(missing_ok=True)
        options = RunRequest(out_dir=folder / "out", record=target)
        running = app.run(planned, replace(options, runs_dir=folder / "runs"), Meddler([answer]), events.append)
        with pytest.raises(error):
            asyncio.run(running)
        assert target.read_text() == "mine"
    (warning,) = (event for event in events if isinstance(event, RunWarning))
    assert "made.yaml" in warning.message


def test_a_plan_with_errors_does_not_run_and_leaves_no_record(folder: Path, wording: Wording) -> None:
    (folder / "r.yaml").unlink()
    with pytest.raises(Exception) as raised:
        run(folder)
    wording(raised.value)
    assert not (folder / "runs").exists()


def test_a_record_that_cannot_be_made_ends_before_the_first_call(folder: Path, wording: Wording) -> None:
    (folder / "runs").write_text("a file")
    with pytest.raises(RunRecordError) as raised:
        run(folder)
    wording(raised.value)


def test_a_file_that_is_not_a_workflow_has_nothing_to_plan(folder: Path) -> None:
    (folder / "flow.yaml").write_text("version: 2\nnme: x\n")
    with pytest.raises(InvalidInput) as raised:
        app.plan(folder / "flow.yaml")
    assert len(raised.value.findings) > 1


def test_planning_says_once_what_validation_could_only_warn_of(folder: Path) -> None:
    (folder / "flow.yaml").write_text(FLOW.replace("input: go", "input: 'on {{ topic }}'"))
    (warning,) = app.load(folder / "flow.yaml").findings
    assert (warning.code, warning.severity) == ("undeclared-variable", "warning")
    (error,) = app.plan(folder / "flow.yaml", settings=Settings(folder / "runs")).findings
    assert (error.code, error.severity) == ("undefined-variable", "error")


def test_the_whole_program_fits_on_one_screen() -> None:
    source = Path(app.__file__).read_text(encoding="utf-8")
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    public = [name for name in names if not name.startswith("_")]
    verbs = ["load", "check", "plan", "plan_rows", "shared_runs", "run", "open_run", "plan_resume", "plan_correction"]
    assert public == [*verbs, "resume", "plan_rerun", "plan_turn", "rerun", "plan_tool", "run_tool"]
    assert len(source.splitlines()) <= 460


def test_check_gives_what_is_wrong_with_a_file_by_itself(folder: Path) -> None:
    assert app.check(folder / "flow.yaml") == ()
    (folder / "flow.yaml").write_text(FLOW.replace("name: flow", "nme: flow"))
    assert [finding.code for finding in app.check(folder / "flow.yaml")] == ["unknown-key"]


def test_the_workspace_protects_the_workflow_and_has_its_mounts(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "flow.yaml").write_text(f"{FLOW}env: {{mounts: {{data: data}}}}\n")
    workspace = workspace_of(app.plan(folder / "flow.yaml", settings=Settings(folder / "runs")))
    assert workspace["mounts"] == {"data": str(folder / "data")}
    assert str(folder / "flow.yaml") in workspace["protected"]
    assert workspace["root"] == str(Path.cwd())


def test_what_is_opened_is_what_the_plan_has_also_where_a_link_moves_after_it(folder: Path) -> None:
    env = "{mounts: {data: link}, secrets: [{key: X, source: file, path: link/key.txt}]}"
    tool = "{id: api, base_url: 'https://a.example', headers: {X: '${secrets.X}'}}"
    for name in ("shown", "other"):
        (folder / name).mkdir()
        (folder / name / "key.txt").write_text(f"{name}-secret-value")
    (folder / "link").symlink_to(folder / "shown")
    (folder / "flow.yaml").write_text(f"{FLOW}env: {env}\ntools: {{http_executors: [{tool}]}}\n")
    planned = app.plan(folder / "flow.yaml", settings=Settings(folder / "runs"))
    (folder / "link").unlink()
    (folder / "link").symlink_to(folder / "other")
    assert workspace_of(planned)["mounts"] == {"data": str(folder / "shown")}
    assert read_secrets(planned) == {"X": "shown-secret-value"}


def test_the_files_that_a_workflow_and_its_policy_come_from_are_protected_like_itself(folder: Path) -> None:
    planned = app.plan(folder / "flow.yaml", settings=Settings(folder / "runs"))
    planned = replace(planned, policy=Policy(files=(("project", "rules.yaml"),)))
    named = [str(folder / "flow.yaml"), str(folder / "r.yaml"), str(Path("rules.yaml").absolute())]
    assert workspace_of(planned)["protected"] == named


def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    clone = Path(__file__).parent.parent
    command = [sys.executable, "-m", "strands_cli", "run", str(clone / "examples" / "quickstart.yaml"), "--quiet"]
    ran = subprocess.run(
        [*command, "--out", "out", "--runs-dir", "runs"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "**576.20**" in (tmp_path / "out" / "report.md").read_text()


def test_a_run_whose_process_died_before_its_first_fact_is_begun_by_the_next_one(folder: Path) -> None:
    request = RunRequest(runs_dir=folder / "runs", out_dir=folder / "out", force=True)
    planned = app.plan(folder / "flow.yaml", request, settings=Settings(folder / "runs"))

    def begin() -> Any:
        human = ScriptedHuman(("shorter",))
        return asyncio.run(app.run(planned, request, human, lambda event: None, run_id="named")).response

    SqliteJournal.create(folder / "runs" / "named").close()
    assert begin() == "second"
    with pytest.raises(RunRecordError):
        begin()
