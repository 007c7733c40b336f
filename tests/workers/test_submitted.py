"""What is stored of a submitted run, and its workflow on a machine that has none of its files."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.engine.ports.clock import SystemClock
from strands_cli.engine.run_start.run_facts import run_facts
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.errors import RunRecordError, UsageError
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.queues.queue_port import Ticket
from strands_cli.workers import stranded_runs
from strands_cli.workers.stranded_runs import StrandedRuns
from strands_cli.workers.submitted.relocation import facts_to_move, install_lock, moved_request, moved_workflow
from strands_cli.workers.submitted.scheduled_runs import COPIED
from strands_cli.workers.submitted.submission import Submission, submittable, what_stays_here

FLOW = """
version: 1
name: flow
runtime: {provider: replay, recording: turns.yaml}
inputs: {required: {topic: string}}
agents: {writer: {$ref: parts/writer.yaml}}
pattern: {type: chain, config: {steps: [{agent: writer, input: "on {{ topic }}"}]}}
"""


@dataclass
class Queue:
    """The part of a queue that submissions use."""

    tickets: list[Ticket] = field(default_factory=list)

    def put(self, ticket: Ticket) -> None:
        self.tickets.append(ticket)

    def live(self, run_ids: Collection[str]) -> set[str]:
        return {one.run_id for one in self.tickets} & set(run_ids)


class Facts(dict[str, Any]):
    """The facts of a run that is in no store."""


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Plan, RunRequest]:
    for name in ("flows", "flows/parts"):
        (tmp_path / name).mkdir()
    (tmp_path / "flows" / "flow.yaml").write_text(FLOW)
    (tmp_path / "flows" / "turns.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: done}]}\n")
    (tmp_path / "flows" / "parts" / "writer.yaml").write_text("prompt: You write.\n")
    request = RunRequest(variables={"topic": "bees"})
    return app.plan(tmp_path / "flows" / "flow.yaml", request), request


def facts_of(plan: Plan, request: RunRequest) -> Facts:
    return Facts(run_facts(plan, request, "run", SystemClock()) | facts_to_move(plan, request))


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
    facts = Facts({**facts_of(*planned), **facts_to_move(*planned)})
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


def test_every_fact_of_a_plan_is_copied_for_a_firing(planned: tuple[Plan, RunRequest]) -> None:
    facts = facts_of(*planned)

    assert facts.keys() - set(COPIED) == {"id", "started_at", "status"}


def test_what_no_journal_stores_is_named(
    planned: tuple[Plan, RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flows" / "own.py").write_text("def shout(text: str) -> str:\n    return text.upper()\n")
    monkeypatch.setenv("STRANDS_CUSTOM_TOOL_ALLOWLIST", "own")
    (tmp_path / "flows" / "flow.yaml").write_text(FLOW.replace("inputs:", 'tools: {python: ["own:shout"]}\ninputs:'))
    plan, request = app.plan(tmp_path / "flows" / "flow.yaml", planned[1]), planned[1]

    assert list(what_stays_here(planned[0], request)) == []
    assert len(list(what_stays_here(plan, request))) == 1


def test_an_artifact_that_is_here_is_nothing_that_a_worker_needs(
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
    assert list(what_stays_here(submittable(plan, request), request)) == []


def test_the_lock_of_another_project_is_not_replaced(tmp_path: Path) -> None:
    facts = Facts(lock="version = 1\n# of the run\n")
    install_lock(facts, tmp_path / "new")
    assert (tmp_path / "new" / "strands.lock").read_text() == facts["lock"]
    install_lock(facts, tmp_path / "new")
    (tmp_path / "new" / "strands.lock").write_text("version = 1\n# of the worker\n")

    with pytest.raises(RunRecordError):
        install_lock(facts, tmp_path / "new")


def test_artifacts_of_a_submitted_run_go_below_the_folder_of_its_worker(planned: tuple[Plan, RunRequest]) -> None:
    plan, _ = planned

    for out in ("/tmp/out", "../out"):
        with pytest.raises(UsageError):
            submittable(plan, RunRequest(out_dir=Path(out)))


def test_a_submitted_run_without_a_ticket_gets_one_and_others_stay_as_they_are(
    planned: tuple[Plan, RunRequest], tmp_path: Path
) -> None:
    plan, request = planned
    store, queue = FolderStore(tmp_path / "runs"), Queue()
    submission: Any = Submission(store, queue, request)  # type: ignore[arg-type]
    submission.submit(plan, Ticket("lost"))
    submission.submit(plan, Ticket("waits"))
    with contextlib.closing(store.create("of-a-terminal")) as journal:
        journal.put(**{**facts_of(plan, request), "id": "of-a-terminal", "status": "running"})
    queue.tickets = [one for one in queue.tickets if one.run_id != "lost"]
    stranded: Any = StrandedRuns(store, queue)  # type: ignore[arg-type]

    assert stranded.find() == ["lost"]
    assert stranded.find() == []
    assert sorted(one.run_id for one in queue.tickets) == ["lost", "waits"]


def test_each_open_run_has_its_turn_although_few_are_looked_at_at_once(
    planned: tuple[Plan, RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stranded_runs, "AT_ONCE", 2)
    plan, request = planned
    store, queue = FolderStore(tmp_path / "runs"), Queue()
    submission: Any = Submission(store, queue, request)  # type: ignore[arg-type]
    for number in range(4):
        submission.submit(plan, Ticket(f"lost{number}"))
        with contextlib.closing(store.create(f"of-a-terminal{number}")) as journal:
            journal.put(**{**facts_of(plan, request), "id": f"of-a-terminal{number}", "status": "running"})
    queue.tickets = []
    stranded: Any = StrandedRuns(store, queue)  # type: ignore[arg-type]

    looks = [stranded.find() for _ in range(4)]

    assert max(map(len, looks)) <= 2
    assert sorted(run_id for look in looks for run_id in look) == [f"lost{number}" for number in range(4)]
    queue.tickets = []
    assert len([run_id for _ in range(3) for run_id in stranded.find()]) == 4, "and then it begins again"


def test_a_look_for_any_work_goes_to_the_last_open_run(
    planned: tuple[Plan, RunRequest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stranded_runs, "AT_ONCE", 2)
    plan, request = planned
    store, queue = FolderStore(tmp_path / "runs"), Queue()
    submission: Any = Submission(store, queue, request)  # type: ignore[arg-type]
    for number in range(7):
        submission.submit(plan, Ticket(f"run{number}"))
    stranded: Any = StrandedRuns(store, queue)  # type: ignore[arg-type]
    assert stranded.find_any() == []
    for number in range(7):
        queue.tickets = [Ticket(f"run{other}") for other in range(7) if other != number]
        assert stranded.find_any() == [f"run{number}"]


def test_a_run_that_was_submitted_twice_has_one_journal_and_one_ticket(
    planned: tuple[Plan, RunRequest], tmp_path: Path
) -> None:
    plan, request = planned
    queue = Queue()
    submission: Any = Submission(FolderStore(tmp_path / "runs"), queue, request)  # type: ignore[arg-type]

    assert [submission.submit(plan, Ticket("once")).is_new for _ in range(2)] == [True, False]
    assert [one.run_id for one in queue.tickets] == ["once"]
    with pytest.raises(UsageError):
        submission.submit(app.plan_rows(plan.file, request).plan({"topic": "other"}), Ticket("once"))
