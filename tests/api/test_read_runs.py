"""The runs of one place as distributions look at them: lists, trees, effects, files, questions; without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli import Workflow
from strands_cli.api import OpenedRun, RunRecordError, Runs, StorePlace, UsageError
from strands_cli.errors import WaitingForPerson
from strands_cli.secrets.redactor import MARK
from strands_cli.workflow.builder import agent, chain, gate

SECRET = "s3cr3t-0123456789"
# Nothing that is written holds the value, and yet the workflow comes to say it.
BUILT = "{{ 's3cr3t-01' ~ '23456789' }}"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StorePlace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("MY_TOKEN", SECRET)
    (tmp_path / "turns.yaml").write_text("recording: 1\nsteps: {}\n")
    return StorePlace(tmp_path / "runs")


@pytest.fixture
def workflow() -> Workflow:
    return Workflow.build(
        "asking",
        runtime={"provider": "replay", "recording": "turns.yaml"},
        agents={"a": agent("You act.")},
        pattern=chain(gate(f"Is it {BUILT}?"), gate("Really?")),
        env={"secrets": [{"key": "MY_TOKEN"}]},
        outputs={"artifacts": [{"path": "said.txt", "from": "{{ last_response }}"}]},
    )


def waiting(workflow: Workflow) -> str:
    with pytest.raises(WaitingForPerson) as waits:
        workflow.run()
    return waits.value.run_id


def test_a_place_without_a_directory_has_no_runs(place: StorePlace) -> None:
    with Runs(place) as runs:
        assert runs.all() == ([], [])
        with pytest.raises(RunRecordError):
            runs.get("last")
    assert not Path("runs").exists()


def test_a_run_that_waits_is_read_and_not_changed(place: StorePlace, workflow: Workflow) -> None:
    run_id = waiting(workflow)
    with Runs(place) as runs:
        assert runs.state(run_id) is not None
        [run], problems = runs.all()
        assert (run.id, run.status, run.command, problems) == (run_id, "waiting", None, [])
        assert runs.get("last") == run
        assert runs.without_parts([run]) == [run]
        with runs.open(run_id[:-1]) as opened:
            assert opened.id == run_id
            [question] = opened.questions()
            assert (question["key"], question["kind"], question["prompt"]) == ("steps.0", "gate", f"Is it {MARK}?")
            assert [branch.key for branch in opened.tree()] == list(opened.effect_keys()) == ["steps.0"]
            assert (opened.effect_keys("steps.0"), opened.has_effect("steps.0"), opened.response()) == ([], True, "")
            effect = opened.effect("steps.0")
            assert effect.question is not None
            assert (effect.status, effect.question.prompt) == ("waiting", f"Is it {MARK}?")
            opened.require_waiting("steps.0")
            with pytest.raises(UsageError) as raised:
                opened.require_waiting("steps.1")
            assert run_id in str(raised.value.fix) or "steps.0" in str(raised.value.fix)
            with pytest.raises(RunRecordError):
                opened.effect("steps.7")
            assert SECRET not in str(opened.questions())
        assert runs.all() == ([run], [])


def test_a_complete_run_has_its_answer_and_files_and_an_answered_question_says_so(
    place: StorePlace, workflow: Workflow
) -> None:
    result = workflow.run(answer=lambda _: f"yes, {SECRET}")
    with Runs(place) as runs, runs.open(result.run_id) as opened:
        assert opened.response() == f"yes, {MARK}"
        assert [(one.name, one.read()) for one in opened.artifacts()] == [("said.txt", f"yes, {MARK}")]
        assert (opened.questions(), opened.summary().run.status) == ([], "completed")
        with pytest.raises(UsageError, match=r"steps\.0 has been answered") as raised:
            opened.require_waiting("steps.0")
        assert " RUN" not in str(raised.value.fix)
        assert SECRET not in str(raised.value)


def test_many_runs_are_opened_one_after_another_and_one_that_is_gone_is_an_error(
    place: StorePlace, workflow: Workflow
) -> None:
    ids = [waiting(workflow), "20260101-000000-00000000", waiting(workflow)]
    with Runs(place) as runs:
        kinds = []
        for one in runs.open_each(ids):
            kinds.append(type(one))
            if isinstance(one, OpenedRun):
                with one:
                    assert one.id in ids
    assert kinds == [OpenedRun, RunRecordError, OpenedRun]
