"""A run that is handed over: its facts, and its workflow on a machine that has none of its files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.app.handover import (
    OF_THE_PLAN,
    Handover,
    facts_to_move,
    install_lock,
    moved_request,
    moved_workflow,
)
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.run_facts import run_facts
from strands_cli.errors import RunRecordError, UsageError
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest

FLOW = """
version: 2
name: flow
runtime: {provider: replay, recording: turns.yaml}
inputs: {required: {topic: string}}
agents: {writer: {$ref: parts/writer.yaml}}
pattern: {type: chain, config: {steps: [{agent: writer, input: "on {{ topic }}"}]}}
"""


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Plan, RunRequest]:
    for name in ("flows", "flows/parts"):
        (tmp_path / name).mkdir()
    (tmp_path / "flows" / "flow.yaml").write_text(FLOW)
    (tmp_path / "flows" / "turns.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: done}]}\n")
    (tmp_path / "flows" / "parts" / "writer.yaml").write_text("prompt: You write.\n")
    request = RunRequest(variables={"topic": "bees"})
    return app.plan(tmp_path / "flows" / "flow.yaml", request), request


def facts_of(plan: Plan, request: RunRequest) -> dict[str, Any]:
    return run_facts(plan, request, "run", SystemClock()) | Handover(plan, request, "workers").facts()


def test_a_workflow_is_the_same_where_none_of_its_files_is(planned: tuple[Plan, RunRequest], tmp_path: Path) -> None:
    plan, request = planned
    facts = facts_of(plan, request)
    for file in [*tmp_path.glob("flows/**/*.yaml")]:
        file.unlink()
    elsewhere = tmp_path / "elsewhere"

    moved = app.plan(moved_workflow(facts, elsewhere), moved_request(facts, elsewhere, {}))

    assert moved.digest == plan.digest
    assert [found for found in moved.findings if found.severity == "error"] == []
    assert moved.base_dir == elsewhere


@pytest.mark.parametrize(("submitted_in", "is_of_others"), [(".", False), ("flows/parts", True)])
def test_whose_a_workflow_is_was_decided_where_it_was_submitted(
    planned: tuple[Plan, RunRequest],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    submitted_in: str,
    is_of_others: bool,
) -> None:
    monkeypatch.chdir(tmp_path / submitted_in)
    facts = {**facts_of(*planned), **facts_to_move(*planned)}
    for folder in ("/", str(tmp_path / "flows" / "parts")):
        monkeypatch.chdir(folder)
        moved = app.plan(moved_workflow(facts, tmp_path / "there"), moved_request(facts, tmp_path / "there", {}))
        assert Trust.of(moved).is_of_others is is_of_others


def test_plans_of_rows_and_of_other_folders_of_artifacts_have_one_key(planned: tuple[Plan, RunRequest]) -> None:
    plan, request = planned
    other = app.plan_rows(plan.file, request).plan({"topic": "wasps"})

    keys = {
        facts_to_move(one, RunRequest(out_dir=Path(out)))["plan_key"] for one in (plan, other) for out in ("a", "b")
    }

    assert len(keys) == 1


def test_another_run_of_the_plan_has_every_fact_of_it(planned: tuple[Plan, RunRequest]) -> None:
    facts = facts_of(*planned)

    assert facts.keys() - set(OF_THE_PLAN) == {"id", "started_at", "status"}


def test_what_no_journal_stores_is_named(
    planned: tuple[Plan, RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flows" / "own.py").write_text("def shout(text: str) -> str:\n    return text.upper()\n")
    monkeypatch.setenv("STRANDS_CUSTOM_TOOL_ALLOWLIST", "own:shout")
    (tmp_path / "flows" / "flow.yaml").write_text(
        FLOW.replace("inputs:", 'tools: {python_path: [.], python: ["own:shout"]}\ninputs:')
    )
    plan, request = app.plan(tmp_path / "flows" / "flow.yaml", planned[1]), planned[1]

    assert list(Handover(planned[0], request, "workers").missing()) == []
    assert len(list(Handover(plan, request, "workers").missing())) == 1


def test_an_artifact_that_is_here_is_not_missing_elsewhere(
    planned: tuple[Plan, RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = tmp_path / "flows" / "flow.yaml"
    flow.write_text(f"{FLOW}\noutputs: {{artifacts: [{{path: n.md, from: '{{{{ last_response }}}}'}}]}}\n")
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "n.md").write_text("of another run")
    monkeypatch.chdir(tmp_path)
    request = dataclasses.replace(planned[1], beside=tmp_path)  # where a command begins
    plan = app.plan(flow, request)

    assert [found.code for found in plan.findings if found.severity == "error"] == ["artifact-exists"]
    assert list(Handover(plan, request, "workers").missing()) == []


def test_the_lock_of_another_project_is_not_replaced(tmp_path: Path) -> None:
    facts = {"lock": "version = 1\n# of the run\n"}
    install_lock(facts, tmp_path / "new")
    assert (tmp_path / "new" / "strands.lock").read_text() == facts["lock"]
    install_lock(facts, tmp_path / "new")
    (tmp_path / "new" / "strands.lock").write_text("version = 1\n# of the worker\n")

    with pytest.raises(RunRecordError):
        install_lock(facts, tmp_path / "new")


def test_artifacts_go_below_the_folder_of_the_process_that_works(planned: tuple[Plan, RunRequest]) -> None:
    plan, _ = planned

    for out in ("/tmp/out", "../out"):
        with pytest.raises(UsageError):
            Handover(plan, RunRequest(out_dir=Path(out)), "workers")
