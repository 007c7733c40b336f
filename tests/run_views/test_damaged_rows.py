"""Damaged rows of a journal: everything else is still shown, and what is damaged is named."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import shutil
import sqlite3
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.cli.commands.run_lines.summary_lines import effects_lines, fact_lines
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.summary import EffectSummary, RunSummary, summary_of
from strands_cli.errors import RunRecordError
from strands_cli.events import Usage
from strands_cli.run_views.opened_runs import tree_of
from strands_cli.run_views.whole_effect import effect_of

SAID = {"events": [{"contentBlockDelta": {"delta": {"text": "Yes."}}}], "model_state": {}}
LOOKED = {"status": "success", "content": [{"text": "seen"}]}
ALLOWED = {"decision": "allow", "rule": "it reads", "arguments": {"at": "c"}, "error_code": "none"}
ROWS = [
    Row("steps.0", "step", "done", "d", output={"response": "Done.", "agent": "writer"}),
    Row("steps.0/model.0", "model", "done", "d", output=SAID, usage=Usage(5, 2), cost=0.5, detail={"model": "m"}),
    Row("steps.0/tool.0.look", "tool", "done", "d", output=LOOKED, detail=ALLOWED),
    Row("steps.1", "human", "done", "d", output={"text": "yes", "by": "person"}, detail={"prompt": "Sure?"}),
    Row("artifacts", "artifacts", "done", "d", output=[{"path": "a", "digest": "d", "size": 1}]),
]
FACTS = ["status", "started_at", "ended_at", "reason", "workflow", "file", "inputs", "rerun_of", "corrections", "given"]
FACTS += ["response", "worked_s", "session_started_at", "base_dir", "files", "secret_variables", "id"]
KEYS = [row.key for row in ROWS]
JSON = ["{", "[1]", '"text"', "5", "null", '{"model": ["m"], "rule": 5, "prompt": {}, "input_tokens": "many"}']
JSON += ['{"events": 5, "content": [5], "response": 7, "text": [], "by": {}, "status": "error"}', "[" * 5000]
DAMAGE = {
    "detail": [*JSON, b'{"model": "\xff"}'],
    "usage": [*JSON, b"\xff", '{"input_tokens": 1e999}'],
    "output": [*JSON, b"\xff"],
    "kind": ["other", 5],
    "status": ["other"],
    "attempt": ["many"],
    "started_at": ["soon", 1e300, -1.0],
    "ended_at": ["late", 1e300],
    "cost": ["much", 9e999],
    "output_file": ["nowhere.json"],
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "run"
    with contextlib.closing(SqliteJournal.create(directory)) as journal:

        async def fill() -> None:
            for row in ROWS:
                journal.note(row)

        asyncio.run(fill())
        journal.put(file="f", base_dir=str(directory), status="completed", started_at=1.0, response="Done.")
    return directory


@contextlib.contextmanager
def damaged(directory: Path, key: str, column: str, value: Any) -> Iterator[SqliteJournal]:
    """Open the run with one value of one row changed, and put back what was there."""
    with contextlib.closing(sqlite3.connect(directory / "journal.sqlite")) as database:
        (before,) = database.execute(f"SELECT {column} FROM effects WHERE key = ?", (key,)).fetchone()
        # SQLite checks no text that it is given.
        given = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
        change = f"UPDATE effects SET {column} = {given} WHERE key = ?"
        database.execute("PRAGMA synchronous = OFF")
        with database:
            database.execute(change, (value, key))
        try:
            with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
                yield journal
        finally:
            with database:
                database.execute(change, (before, key))


def everything(summary: RunSummary) -> list[tuple[str, Any]]:
    """Return what is shown of each effect."""
    effects: list[EffectSummary] = [one.effect for top in tree_of(summary) for one in top.walk() if one.effect]
    return [(one.row.key, (one.text, one.value, one.calls, one.asked, one.error, one.agent)) for one in effects]


def test_an_effect_without_a_readable_start_has_not_lasted_since_1970(directory: Path) -> None:
    with contextlib.closing(sqlite3.connect(directory / "journal.sqlite")) as database, database:
        database.execute("UPDATE effects SET ended_at = 1.8e9 WHERE key = 'steps.0/model.0'")
    with damaged(directory, "steps.0/model.0", "started_at", "soon") as journal:
        (top, *_) = tree_of(summary_of(journal))
    assert {one.key: one.seconds for one in top.walk()}["steps.0/model.0"] == 0.0
    with contextlib.closing(sqlite3.connect(directory / "journal.sqlite")) as database, database:
        database.execute("UPDATE effects SET ended_at = NULL WHERE key = 'steps.0/model.0'")


def test_rows_that_were_read_leave_memory_with_the_last_reader(directory: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
            assert summary_of(journal).effects
            seen = weakref.ref(journal)
        del journal
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("column", DAMAGE)
def test_a_damaged_value_hides_nothing_of_the_other_rows(directory: Path, column: str) -> None:
    with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
        sound = dict(everything(summary_of(journal)))
    values = DAMAGE[column]
    cases = {(key, values[0]) for key in KEYS} | {(KEYS[n % len(KEYS)], value) for n, value in enumerate(values)}
    for key, value in cases:
        with damaged(directory, key, column, value) as journal:
            summary = summary_of(journal)
            shown = dict(everything(summary))
            whole = effect_of(journal, key)
        assert {**shown, key: None} == {**sound, key: None}
        if value == values[0]:
            (effect,) = [one for one in summary.effects if one.row.key == key]
            assert effect.damage == whole.damage
            assert (whole.damage is None, whole.status, whole.error is None) == (False, "failed", False)


def test_a_run_with_a_damaged_row_is_not_continued(directory: Path) -> None:
    with damaged(directory, "steps.0", "detail", "{") as journal, pytest.raises(RunRecordError):
        list(journal.rows())


@pytest.mark.parametrize("value", [5, "text", [5], {"a": 5}, [[{}]], -1e300])
def test_damaged_facts_of_a_run_are_an_error_for_a_person_or_none(tmp_path: Path, directory: Path, value: Any) -> None:
    copy = Path(shutil.copytree(directory, tmp_path / "run"))
    with contextlib.closing(SqliteJournal.open(copy)) as journal:
        for name in FACTS:
            before = journal.get(name)
            journal.put(**{name: value})
            with contextlib.suppress(RunRecordError):
                summary = summary_of(journal)
                assert [*fact_lines(summary), *effects_lines(summary, columns=80, full=True)]
            journal.put(**{name: before})


NAMES = st.sampled_from(["steps.0", "nodes.a#1", "model.0", "tool.0.look", "tool.1.ask", "", "approval", "/"])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)


@settings(max_examples=60)
@given(st.lists(PATHS, unique=True, max_size=20))
def test_each_effect_is_in_the_tree_once_and_below_the_beginning_of_its_key(keys: list[str]) -> None:
    effects = [EffectSummary(Row(key, "step", "done", "d")) for key in keys if key]
    summary = RunSummary(RUN, None, (), (), SPENT, (), effects, {}, None, None, (), {})
    tops = tree_of(summary)
    every = [branch for top in tops for branch in top.walk()]
    assert sorted(one.effect.row.key for one in every if one.effect) == sorted(key for key in keys if key)
    assert len({one.key for one in every}) == len(every)
    assert all(child.key.startswith(f"{one.key}/") for one in every for child in one.children)


RUN: Any = type("Run", (), {"status": "completed"})
SPENT: Any = None
