"""The journals of many runs are read from every store, also from one that opens them one by one."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, cast

import pytest

from strands_cli.engine.journal.damaged_rows import json_value
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.store_port import RunStore
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.engine.stored_runs.many_journals import journals_of
from strands_cli.errors import RunRecordError


class StoreOfBefore:
    """A store that only opens runs, one by one."""

    def __init__(self, directory: Path) -> None:
        self._store = FolderStore(directory)

    def open(self, run_id: str, *, hold: bool = True) -> SqliteJournal:
        return self._store.open(run_id, hold=hold)


def test_a_store_of_before_is_read_run_by_run(tmp_path: Path) -> None:
    for run_id in ("a", "b"):
        with contextlib.closing(FolderStore(tmp_path).create(run_id)) as journal:
            journal.put(workflow=f"of {run_id}")
    found = []
    for read in journals_of(cast("RunStore", StoreOfBefore(tmp_path)), ["b", "gone", "a"]):
        if isinstance(read, RunRecordError):
            found.append(read.exit_code)
            continue
        with contextlib.closing(read):
            found.append(read.get("workflow"))
    assert found == ["of b", 17, "of a"]


@pytest.mark.parametrize("text", ['{"a": [1, null]}', ' "a" ', "1", "NaN", '"\\ud800"', b"[1]"])
def test_json_means_what_it_means_to_python(text: Any) -> None:
    assert repr(json_value(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "1 2", '"a"}', "\ufeff1", None, b"\xff"])
def test_other_texts_are_refused(text: Any) -> None:
    for read in (json.loads, json_value):
        with pytest.raises((ValueError, TypeError)):
            read(text)
