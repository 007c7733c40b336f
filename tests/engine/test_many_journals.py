"""The journals of many runs are read from every store, and texts found in them whatever case their letters have."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, cast

import pytest

from strands_cli.engine.journal.row_texts import json_value
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.ports.store_port import RunStore
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.engine.stored_runs.many_journals import journals_of
from strands_cli.errors import RunRecordError
from strands_cli.run_views.search import search


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


@pytest.mark.parametrize(
    ("wanted", "given", "is_found"),
    [
        ("bees", "of BEES", True),
        ("BEES", "of bees", True),
        ("b.es", "of bees", False),
        ("kelvin", "in \u212aelvin", True),
        ("\u212aelvin", "in kelvin", True),
        ("caf\u00e9", "CAF\u00c9", True),
        ("caf\u00e9", "cafe", False),
        ("stra\u00dfe", "STRASSE", False),
    ],
)
def test_a_text_is_found_in_both_cases(wanted: str, given: str, is_found: bool, tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    with contextlib.closing(store.create("run")) as journal:
        journal.put(status="completed", started_at=5.0, response=given)
    assert [hit.line for hit in search(store, store.runs()[0], wanted)] == [given] * is_found  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ['{"a": [1, null]}', ' "a" ', "1", "NaN", '"\\ud800"', b"[1]"])
def test_json_means_what_it_means_to_python(text: Any) -> None:
    assert repr(json_value(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "1 2", '"a"}', "\ufeff1", None, b"\xff"])
def test_other_texts_are_refused(text: Any) -> None:
    for read in (json.loads, json_value):
        with pytest.raises((ValueError, TypeError)):
            read(text)
