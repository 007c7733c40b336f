"""Whether a run has changed, for those who follow it."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

import pytest

from strands_cli.api import RunRecordError
from strands_cli.engine.folder_lock import hold_run
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli_ui.live.change_hub import RunsChanges


def settled(changes: RunsChanges) -> None:
    """Look until nothing is new: a change may be reported more than once."""
    until = time.monotonic() + 60
    while changes.changed():
        assert time.monotonic() < until


def test_each_change_of_a_run_is_seen_and_its_deletion_is_an_error(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with contextlib.closing(SqliteJournal.create(directory)) as journal:
        changes = RunsChanges(FolderStore(directory.parent), directory.name)
        assert changes.changed(), "nobody has looked before"
        settled(changes)
        for number in range(20):
            journal.put(number=number)
            assert changes.changed(), "also what was written in the moment of the last look"
        settled(changes)
    assert changes.changed(), "nobody works on it any more"
    settled(changes)
    shutil.rmtree(directory)
    with pytest.raises(RunRecordError):
        changes.changed()


def test_the_end_of_a_process_that_wrote_nothing_is_seen(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    SqliteJournal.create(directory).close()
    lock = hold_run(directory)
    changes = RunsChanges(FolderStore(directory.parent), directory.name)
    settled(changes)
    lock.release()
    assert changes.changed()
    settled(changes)
