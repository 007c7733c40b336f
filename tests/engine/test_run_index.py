"""The index of ended runs: a list is the same with it, without it, and with whatever is in its place."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from strands_cli.engine.journal.sqlite_journal import DATABASE, SqliteJournal
from strands_cli.engine.stored_runs.folder_store import INDEX, LEAST, SETTLED_NS, FolderStore

REASON = "words that only this run has"


def later() -> int:
    """Return a time at which what was written just now has settled."""
    return time.time_ns() + 2 * SETTLED_NS


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a directory with one run more than an index needs, and its index."""
    runs = tmp_path / "runs"
    first = runs / "20261101-000000-000000"
    with contextlib.closing(SqliteJournal.create(first)) as journal:
        journal.put(status="failed", started_at=5.0, ended_at=6.0, worked_s=1.0, workflow="bees", reason=REASON)
    for number in range(1, LEAST + 1):
        copy = runs / f"20261101-0000{number:02}-00000a"
        copy.mkdir()
        shutil.copyfile(first / DATABASE, copy / DATABASE)
    assert len(FolderStore(runs, later).runs()[0]) == LEAST + 1
    return runs


def in_index(runs: Path, query: str, *values: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(runs / INDEX)) as database, database:
        return database.execute(query, values).fetchall()


def workflows(runs: Path) -> dict[str, str]:
    listed, problems = FolderStore(runs, later).runs()
    assert problems == []
    return {run.id: run.workflow for run in listed}


def test_ended_runs_are_shown_from_the_index_only_while_their_journals_are_the_same(runs: Path) -> None:
    in_index(runs, "UPDATE runs SET workflow = 'from the index'")
    assert set(workflows(runs).values()) == {"from the index"}
    name = "20261101-000007-00000a"
    with contextlib.closing(SqliteJournal.open(runs / name)) as journal:
        journal.put(status="waiting")
        assert {run.id: run.status for run in FolderStore(runs, later).runs()[0]}[name] == "waiting", (
            "it is in the log only"
        )
    listed = {run.id: run for run in FolderStore(runs, later).runs()[0]}
    assert (listed[name].workflow, listed[name].status) == ("bees", "waiting")
    (runs / name / DATABASE).write_bytes((runs / "20261101-000008-00000a" / DATABASE).read_bytes())
    assert workflows(runs)[name] == "bees", "also where a file of the same size is put there"


def test_what_was_written_a_moment_ago_is_not_indexed(runs: Path) -> None:
    (runs / INDEX).unlink()
    written = min(one.stat().st_ctime_ns for one in runs.glob(f"*/{DATABASE}"))
    assert len(FolderStore(runs, lambda: written + SETTLED_NS // 2).runs()[0]) == LEAST + 1
    assert not (runs / INDEX).exists()


def test_few_runs_need_no_index(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "20261101-000001-00000a", tmp_path / "few" / "20261101-000001-00000a")
    assert len(FolderStore(tmp_path / "few", later).runs()[0]) == 1
    assert [entry.name for entry in (tmp_path / "few").iterdir()] == ["20261101-000001-00000a"]


def test_nothing_of_a_deleted_run_stays_in_the_index(runs: Path) -> None:
    for directory in [entry for entry in runs.iterdir() if entry.is_dir()][1:]:
        FolderStore(directory.parent).delete(directory.name)
    (left,) = workflows(runs)
    assert (runs / INDEX).read_bytes().count(REASON.encode()) == 1
    shutil.rmtree(runs / left)
    assert FolderStore(runs, later).runs() == ([], []), "by hand, too"
    assert REASON.encode() not in (runs / INDEX).read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="has other permissions")
def test_only_its_user_may_read_it(runs: Path) -> None:
    assert (runs / INDEX).stat().st_mode & 0o777 == 0o600


def of_another_version(runs: Path) -> None:
    in_index(runs, "DROP TABLE runs")
    in_index(runs, "CREATE TABLE runs (name TEXT, weight REAL)")


def with_values_of_other_types(runs: Path) -> None:
    in_index(runs, "UPDATE runs SET started_at = 'soon'")


def a_link(runs: Path) -> None:
    (runs / INDEX).rename(runs.parent / "elsewhere")
    (runs / INDEX).symlink_to(runs.parent / "elsewhere")


def a_directory(runs: Path) -> None:
    (runs / INDEX).unlink()
    (runs / INDEX).mkdir()


def cut(runs: Path) -> None:
    os.truncate(runs / INDEX, 5000)


def empty(runs: Path) -> None:
    (runs / INDEX).write_bytes(b"")


def other_bytes(runs: Path) -> None:
    (runs / INDEX).write_bytes(b"not a database" * 1000)


@pytest.mark.parametrize(
    "spoil", [of_another_version, with_values_of_other_types, a_link, a_directory, cut, empty, other_bytes]
)
def test_whatever_is_in_its_place_the_list_is_right(runs: Path, spoil: Callable[[Path], None]) -> None:
    before = FolderStore(runs, later).runs()
    spoil(runs)
    assert FolderStore(runs, later).runs() == before
    if spoil is not a_directory:
        assert in_index(runs, "SELECT count(*) FROM runs WHERE started_at = 5.0") == [(LEAST + 1,)], "made again"


def test_another_process_that_writes_it_changes_nothing(runs: Path) -> None:
    before = FolderStore(runs, later).runs()
    with contextlib.closing(sqlite3.connect(runs / INDEX, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert FolderStore(runs, later).runs() == before
    (runs / INDEX).unlink()
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(FolderStore(runs, later).runs())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [before] * 4
