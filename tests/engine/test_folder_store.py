"""Records of many runs in one directory, and what a person may decide about one."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import filelock
import pytest

from strands_cli.engine.effects.effect import UNDECIDED
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import DATABASE, SqliteJournal
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore, session_facts
from strands_cli.engine.stored_runs.run_owners import cancel_run
from strands_cli.engine.waiting import questions as cut_off_calls
from strands_cli.engine.waiting import questions as decisions
from strands_cli.errors import RunRecordError, UsageError
from tests.fakes.ports import FakeClock
from tests.wordings import Wording

GATE = Row("steps.1", "human", "waiting", "d", detail={"kind": "gate", "prompt": "Go?"}, started_at=5.0)
CALL = Row("steps.0/tool.0.send", "tool", "started", "d", detail={UNDECIDED: True})


def make_run(runs_dir: Path, name: str, status: str = "waiting", **facts: object) -> Path:
    journal = SqliteJournal.create(runs_dir / name)
    journal.put(id=name, workflow="w", pattern="chain", file="f", status=status, started_at=1.0, **facts)
    journal.close()
    return runs_dir / name


def journal_of(*rows: Row) -> MemoryJournal:
    journal = MemoryJournal()
    for row in rows:
        journal.note(row)
    return journal


def test_runs_are_listed_newest_first_and_a_damaged_one_hides_no_other(tmp_path: Path) -> None:
    for name in ("20260101-a", "20260103-c", "20260102-b"):
        make_run(tmp_path, name)
    (tmp_path / "20260102-b" / DATABASE).write_bytes(b"no database at all")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".hidden").mkdir()
    runs, problems = FolderStore(tmp_path).runs()
    assert [run.id for run in runs] == ["20260103-c", "20260101-a"]
    assert len(problems) == 2


def test_a_directory_that_is_not_there_holds_no_runs(tmp_path: Path, wording: Wording) -> None:
    assert FolderStore(tmp_path / "nowhere").runs() == ([], [])
    with pytest.raises(RunRecordError) as raised:
        FolderStore(tmp_path / "nowhere").find("x")
    wording(raised.value)


@pytest.mark.parametrize("name", ["..", ".", "../other/run", "", "run/../run"])
def test_an_id_cannot_lead_out_of_the_directory(name: str, tmp_path: Path, wording: Wording) -> None:
    make_run(tmp_path / "other", "run")
    make_run(tmp_path / "runs", "run")
    with pytest.raises(RunRecordError) as raised:
        FolderStore(tmp_path / "runs").find(name)
    wording(raised.value)


def test_a_mistyped_last_is_answered_with_it(tmp_path: Path) -> None:
    make_run(tmp_path, "20260101-a")
    with pytest.raises(RunRecordError) as raised:
        FolderStore(tmp_path).find("lst")
    assert "'last'" in (raised.value.fix or "")


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """Return a run that another process holds."""
    with held_elsewhere(make_run(tmp_path, "run", "running", pid=1, host="another")) as directory:
        yield directory


@contextlib.contextmanager
def held_elsewhere(directory: Path) -> Iterator[Path]:
    script = (
        "import sys; from pathlib import Path; from strands_cli.engine.folder_lock import hold_run\n"
        "lock = hold_run(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield directory
        process.communicate()


def test_a_run_that_is_held_is_running_and_cannot_be_deleted(held: Path, wording: Wording) -> None:
    assert FolderStore(held.parent).read(held.name).status == "running"
    with pytest.raises(RunRecordError) as raised:
        FolderStore(held.parent).delete(held.name)
    wording(raised.value)
    assert FolderStore(held.parent).read(held.name).workflow == "w"
    with pytest.raises(RunRecordError) as refused:
        cancel_run(FolderStore(held.parent), held.name, FakeClock())
    wording(refused.value)


def test_a_run_whose_lock_cannot_be_opened_is_not_deleted(tmp_path: Path) -> None:
    directory = make_run(tmp_path, "run")
    (directory / "lock").unlink()
    (directory / "lock").mkdir()
    with pytest.raises(RunRecordError):
        FolderStore(directory.parent).delete(directory.name)
    assert (directory / DATABASE).exists()


def test_a_program_with_the_number_of_an_earlier_process_of_the_run_is_not_stopped(
    tmp_path: Path, wording: Wording
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        facts = {**session_facts(), "pid": other.pid, "pid_started": "1"}
        directory = make_run(tmp_path, "run", "running", **facts)
        with held_elsewhere(directory), pytest.raises(RunRecordError) as refused:
            cancel_run(FolderStore(directory.parent), directory.name, FakeClock())
        wording(refused.value)
        other.communicate(b"\n")
        assert other.returncode == 0


def test_a_run_that_says_running_and_is_held_by_no_one_was_interrupted(tmp_path: Path) -> None:
    directory = make_run(tmp_path, "run", "running")
    assert FolderStore(directory.parent).read(directory.name).status == "interrupted"
    cancel_run(FolderStore(directory.parent), directory.name, FakeClock())
    assert FolderStore(directory.parent).read(directory.name).status == "cancelled"
    FolderStore(directory.parent).delete(directory.name)
    assert not directory.exists()


def test_what_has_ended_cannot_be_cancelled(tmp_path: Path) -> None:
    directory = make_run(tmp_path, "run", "completed")
    with pytest.raises(UsageError, match="is completed"):
        cancel_run(FolderStore(directory.parent), directory.name, FakeClock())


FINISHING = """
import signal, sys
from pathlib import Path
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import session_facts
journal = SqliteJournal.open(Path(sys.argv[1]))
journal.put(**session_facts())
def finish(*_):
    journal.put(status="completed", ended_at=2.0)
    journal.close()
    sys.exit(0)
signal.signal(signal.SIGTERM, finish)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.kills
def test_a_run_that_completes_while_it_is_asked_to_stop_stays_completed(tmp_path: Path) -> None:
    directory = make_run(tmp_path, "run", "running")
    command = [sys.executable, "-c", FINISHING, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="is completed"):
            cancel_run(FolderStore(directory.parent), directory.name, FakeClock())
    assert FolderStore(directory.parent).read(directory.name).status == "completed"


def test_a_look_at_a_run_does_not_turn_away_who_wants_to_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strands_cli.engine.folder_lock.LOOK_S", 20.0)
    directory = make_run(tmp_path, "run", "running")
    look = filelock.FileLock(directory / "lock", thread_local=False)
    look.acquire()
    letting_go = threading.Timer(0.1, look.release)
    letting_go.start()
    SqliteJournal.open(directory).close()
    letting_go.join()


@pytest.mark.parametrize(
    ("detail", "given", "text"),
    [
        ({}, None, "approved"),
        ({}, "ship it", "ship it"),
        ({"pattern": "yes|no"}, None, "yes"),
        ({"pattern": "ship|hold", "default": "wait"}, "wait", "wait"),
        ({"pattern": "ship|hold"}, "hold", "hold"),
        ({"kind": "approval", "pattern": "yes|no"}, None, "yes"),
        ({"kind": "approval", "pattern": "yes|no"}, "y", "yes"),
        ({"kind": "approval", "pattern": "yes|no"}, " NO", "no"),
    ],
)
def test_approving_says_what_the_question_takes_for_a_yes(detail: dict[str, str], given: str, text: str) -> None:
    assert decisions.approving_text(replace(GATE, detail={"kind": "gate", **detail}), given) == text


@pytest.mark.parametrize(
    ("detail", "given"),
    [({"pattern": "ship|hold"}, None), ({"pattern": "ship|hold"}, "shipped"), ({"kind": "approval"}, "perhaps")],
)
def test_an_answer_that_does_not_fit_is_refused(detail: dict[str, str], given: str) -> None:
    with pytest.raises(UsageError):
        decisions.approving_text(replace(GATE, detail={"kind": "gate", **detail}), given)


def test_an_answer_hours_after_a_kill_does_not_count_as_work(wording: Wording) -> None:
    clock = FakeClock()
    done = Row("steps.0", "step", "done", "d", started_at=clock.now(), ended_at=clock.now() + 3)
    journal = journal_of(done, GATE)
    journal.put(session_started_at=clock.now(), worked_s=1.0)
    clock.advance(9000)
    asyncio.run(decisions.give_answer(journal, clock, GATE, "yes"))
    assert (journal.get("worked_s"), journal.get("session_started_at")) == (4.0, None)
    assert decisions.open_questions(journal) == []
    with pytest.raises(UsageError) as raised:
        decisions.chosen_question(journal, "steps.1")
    wording(raised.value)


def test_only_a_call_that_was_cut_off_can_be_decided() -> None:
    journal = journal_of(CALL, GATE, replace(CALL, key="steps.0/tool.1.send", status="done"))
    assert cut_off_calls.open_decisions(journal) == [CALL]
    assert cut_off_calls.cut_off_call(journal, CALL.key) == CALL
    for key in ("steps.0/tool.1.send", "steps.1", "steps.9"):
        with pytest.raises(UsageError):
            cut_off_calls.cut_off_call(journal, key)


def test_a_new_run_takes_over_what_was_done_before_its_key_but_not_the_steps_around_it() -> None:
    keys = ["steps.0", "steps.0/model.0", "steps.0/tool.0.x", "steps.0/model.1", "steps.1"]
    rows = [Row(key, "step", "done", "d") for key in keys]
    journal = journal_of(*rows, replace(rows[0], key="steps.2", status="failed"))

    def taken(key: str) -> list[str]:
        return [row.key for row in cut_off_calls.rows_before(journal, key)]

    assert taken("steps.0") == []
    assert taken("steps.0/model.1") == ["steps.0/model.0", "steps.0/tool.0.x"]
    assert taken("steps.1") == keys[:4]
    assert taken("steps.2") == keys
    with pytest.raises(UsageError, match=r"no steps\.7"):
        taken("steps.7")


def test_a_directory_of_runs_that_is_none_is_an_error(tmp_path: Path, wording: Wording) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(RunRecordError) as raised:
        FolderStore(file).runs()
    wording(raised.value)


def test_a_run_whose_process_died_before_it_had_a_journal_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").touch()
    FolderStore(tmp_path).create("run").close()
    with pytest.raises(RunRecordError):
        FolderStore(tmp_path).create("run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "of a person").touch()
    with pytest.raises(RunRecordError):
        FolderStore(tmp_path).create("other")
