"""Submitted runs: each has one journal and one ticket, and one that has lost its ticket gets another."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from strands_cli.api import Handover, RunRequest, UsageError
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli_workers import stranded_runs
from strands_cli_workers.queue_values import Ticket
from strands_cli_workers.stranded_runs import StrandedRuns
from strands_cli_workers.submission import Submission

FLOW = """
version: 2
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


@pytest.fixture
def run(tmp_path: Path) -> Handover:
    for name in ("flows", "flows/parts"):
        (tmp_path / name).mkdir()
    (tmp_path / "flows" / "flow.yaml").write_text(FLOW)
    (tmp_path / "flows" / "turns.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: done}]}\n")
    (tmp_path / "flows" / "parts" / "writer.yaml").write_text("prompt: You write.\n")
    return planned(tmp_path, "bees")


def planned(folder: Path, topic: str) -> Handover:
    request = RunRequest(variables={"topic": topic})
    return Handover.of(folder / "flows" / "flow.yaml", request, "workers")


def begin_in_terminal(store: FolderStore, run_id: str) -> None:
    """Store a run that was not submitted."""
    with contextlib.closing(store.create(run_id)) as journal:
        journal.put(id=run_id, workflow="flow", pattern="chain", file="flow.yaml", started_at=1.0, status="running")


def test_a_submitted_run_without_a_ticket_gets_one_and_others_stay_as_they_are(run: Handover, tmp_path: Path) -> None:
    store, queue = FolderStore(tmp_path / "runs"), Queue()
    submission: Any = Submission(store, queue)  # type: ignore[arg-type]
    submission.submit(run, Ticket("lost"))
    submission.submit(run, Ticket("waits"))
    begin_in_terminal(store, "of-a-terminal")
    queue.tickets = [one for one in queue.tickets if one.run_id != "lost"]
    stranded: Any = StrandedRuns(store, queue)  # type: ignore[arg-type]

    assert stranded.find() == ["lost"]
    assert stranded.find() == []
    assert sorted(one.run_id for one in queue.tickets) == ["lost", "waits"]


def test_each_open_run_has_its_turn_although_few_are_looked_at_at_once(
    run: Handover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stranded_runs, "AT_ONCE", 2)
    store, queue = FolderStore(tmp_path / "runs"), Queue()
    submission: Any = Submission(store, queue)  # type: ignore[arg-type]
    for number in range(4):
        submission.submit(run, Ticket(f"lost{number}"))
        begin_in_terminal(store, f"of-a-terminal{number}")
    queue.tickets = []
    stranded: Any = StrandedRuns(store, queue)  # type: ignore[arg-type]

    looks = [stranded.find() for _ in range(4)]

    assert max(map(len, looks)) <= 2
    assert sorted(run_id for look in looks for run_id in look) == [f"lost{number}" for number in range(4)]
    queue.tickets = []
    assert len([run_id for _ in range(3) for run_id in stranded.find()]) == 4, "and then it begins again"


def test_a_look_for_any_work_goes_to_the_last_open_run(
    run: Handover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stranded_runs, "AT_ONCE", 2)
    store, queue = FolderStore(tmp_path / "runs"), Queue()
    submission: Any = Submission(store, queue)  # type: ignore[arg-type]
    for number in range(7):
        submission.submit(run, Ticket(f"run{number}"))
    stranded: Any = StrandedRuns(store, queue)  # type: ignore[arg-type]
    assert stranded.find_any() == []
    for number in range(7):
        queue.tickets = [Ticket(f"run{other}") for other in range(7) if other != number]
        assert stranded.find_any() == [f"run{number}"]


def test_a_run_that_was_submitted_twice_has_one_journal_and_one_ticket(run: Handover, tmp_path: Path) -> None:
    queue = Queue()
    submission: Any = Submission(FolderStore(tmp_path / "runs"), queue)  # type: ignore[arg-type]

    assert [submission.submit(run, Ticket("once")).is_new for _ in range(2)] == [True, False]
    assert [one.run_id for one in queue.tickets] == ["once"]
    with pytest.raises(UsageError):
        submission.submit(planned(tmp_path, "other"), Ticket("once"))
