"""Many runs are read with few queries and in little memory, and have what they have in a folder."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from store_kit import FACTS, done, opened, transactions_of, write

from strands_cli.api import EffectSummary, Row, RunRecordError, RunStore, StoredJournal, Usage
from strands_cli.engine.stored_runs.described import run_of
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.engine.stored_runs.many_journals import journals_of
from strands_cli_postgres.runs_ahead import BYTES_AT_ONCE, RUNS_AT_ONCE

pytestmark = pytest.mark.postgres

SECRET = "marked-secret-value"
# What a text can be beside letters: signs that JSON escapes, half a pair, letters whose other case is another sign.
ODD = 'a "quoted"\tword\\ at\nthe end: caf\u00e9 \u212aelvin \u0130stanbul \ud800'


def make(store: RunStore, run_id: str, *rows: Row, **facts: Any) -> None:
    """Store a run with these rows."""
    with closing(store.create(run_id)) as journal:
        journal.put(**{**FACTS, "status": "completed", "text": "", "base_dir": "/", "files": {}, **facts})
        assert write(journal, *rows) == [None] * len(rows)


def of_a_run(number: int) -> list[Row]:
    """Return rows as a run writes them: a turn in pieces, a call that fails, a step, and a large answer of a tool."""
    pieces = [{"contentBlockDelta": {"delta": {"text": text}}} for text in ("Bees", " hu", f"m {number}")]
    error = {"status": "error", "content": [{"json": {"error": {"code": "broken", "message": ODD}}}]}
    large = {"status": "success", "content": [{"text": f"{'x' * 70_000} large {number}"}]}
    detail: dict[str, Any] = {"agent": "writer", "model": f"m{number % 2}", "request": f"Write {ODD}"}
    model = replace(done(1, {"events": pieces}), key="steps.0/model.0", cost=0.25, usage=Usage(10, 2), detail=detail)
    called = {"arguments": {"n": number}, "error_code": "broken"}
    return [
        replace(done(0, {"response": f"said {number}", "agent": "writer", "output": {"n": 7}}), kind="step"),
        model,
        replace(done(2, error), kind="tool", key="steps.0/tool.0.look", detail=called),
        replace(done(3, large), kind="tool", key="steps.0/tool.1.read"),
        replace(done(4), status="failed", detail={"error": ODD, "agent": "writer"}),
    ]


def queries_of(address: str, use: Callable[[RunStore], object]) -> int:
    """Return how many transactions something needs, each of which is a question over the network."""
    before = transactions_of(address)
    with opened(address) as store:
        use(store)
    return transactions_of(address) - before


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "runs")


def facts_in(journal: StoredJournal) -> list[Any]:
    """Read what is known of a run and of its effects, but no output of a call that succeeded."""
    rows = [(row.key, row.kind, row.status, row.usage, row.cost, dict(row.detail)) for row in journal.rows()]
    return [journal.get("workflow"), journal.get("inputs"), journal.get("response"), rows]


def texts_in(journal: StoredJournal) -> list[Any]:
    """Read also what each effect answered."""
    effects = map(EffectSummary, journal.rows())
    return [*facts_in(journal), [(one.text, one.value, one.calls, one.error, one.tool_error) for one in effects]]


def all_read(store: RunStore, read_one: Callable[[StoredJournal], list[Any]]) -> list[list[Any]]:
    """Read all runs of a store."""
    return [read_one(journal) for journal in read(store, store.runs()[0])]


@pytest.mark.parametrize("read_one", [facts_in, texts_in])
def test_runs_have_what_they_have_in_a_folder(
    read_one: Callable[[StoredJournal], list[Any]], address: str, folder: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKED_VARIABLE", SECRET)
    given = {"inputs": {"topic": ODD, "key": SECRET}, "secret_variables": ["MARKED_VARIABLE"], "response": ODD}
    with opened(address) as store:
        for one in (store, folder):
            for number in range(7):
                make(one, f"run-{number}", *of_a_run(number), started_at=float(number), worked_s=1.0, **given)
        expected, found = all_read(folder, read_one), all_read(store, read_one)
    assert len(expected) == 7
    assert found == expected


def test_a_damaged_row_is_named_as_in_a_folder(address: str) -> None:
    with opened(address) as store:
        for number in range(3):
            make(store, f"run-{number}", *of_a_run(number))
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("UPDATE strands.effects SET output = '{' WHERE run = 2 AND key = 'steps.0/tool.0.look'")
            connection.execute("DELETE FROM strands.outputs WHERE run = 3")
        effects = [list(map(EffectSummary, journal.tolerant().rows())) for journal in read(store, store.runs()[0])]
        failed = [sum(one.tool_error is not None or one.damage is not None for one in run) for run in effects]
        read_whole = [sum(one.text is None and one.damage is not None for one in run) for run in effects]
    # Newest first. Why a call failed is read from its own row; the output of one that succeeded lies beside it.
    assert (sorted(failed), sorted(read_whole)) == ([1, 1, 1], [0, 1, 1])


@pytest.mark.parametrize("read_one", [facts_in, texts_in])
def test_queries_grow_with_parts_and_not_with_runs(
    read_one: Callable[[StoredJournal], list[Any]], address: str
) -> None:
    def use(store: RunStore) -> None:
        all_read(store, read_one)

    def add(first: int, last: int) -> None:
        with opened(address) as store:
            for number in range(first, last):
                make(store, f"run-{number}", *of_a_run(number)[:3], inputs={"n": number})

    add(0, 50)
    few = queries_of(address, use)
    add(50, RUNS_AT_ONCE)
    assert queries_of(address, use) == few, "as many as are read together need no query more"
    add(RUNS_AT_ONCE, RUNS_AT_ONCE + 1)
    assert few < queries_of(address, use) <= few + 5, "the next part of them needs a few"


def test_large_outputs_are_read_together(address: str) -> None:
    def add(first: int, last: int) -> None:
        with opened(address) as store:
            for number in range(first, last):
                make(store, f"run-{number}", *of_a_run(number))

    def find(store: RunStore) -> None:
        assert all("large" in str(texts) for *_, texts in all_read(store, texts_in))

    add(0, 5)
    few = queries_of(address, find)
    add(5, 40)
    assert queries_of(address, find) == few


def test_what_was_asked_of_some_runs_is_read_together_of_others(address: str) -> None:
    def look(times: int) -> Callable[[RunStore], None]:
        def each(store: RunStore) -> None:
            for _ in range(times):
                for journal in read(store, [store.read("run-0")]):
                    assert [journal.get(name) for name in FACTS] == [*{**FACTS, "status": "completed"}.values()]

        return each

    with opened(address) as store:
        make(store, "run-0")
    once, twice = (queries_of(address, look(times)) for times in (1, 2))
    assert twice - once == 3, "the run, its size, and all of its facts"


def test_memory_has_a_part_of_the_runs_at_a_time(address: str) -> None:
    # 40 MB, in rows that are just not stored beside: those of one run are more than is read at once.
    text = "y" * 60_000
    with opened(address) as store:
        for number in range(8):
            make(store, f"run-{number}", *(done(one, text) for one in range(100 if number == 3 else 80)))
        for number in range(8, 40):
            make(store, f"run-{number}", *(done(one, text) for one in range(4)))
        runs = store.runs()[0]
        all_read(store, facts_in)  # what is imported and connected once
        tracemalloc.start()
        try:
            rows = sum(len(row.output) == len(text) for journal in read(store, runs) for row in journal.rows())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert rows == 7 * 80 + 100 + 32 * 4
    # The texts as they were received, and once more as Python's.
    assert peak < 5 * BYTES_AT_ONCE


def read(store: RunStore, runs: list[Any]) -> Iterator[Any]:
    for journal in journals_of(store, (run.id for run in runs)):
        assert not isinstance(journal, RunRecordError)
        with closing(journal):
            yield journal


def test_a_run_that_ends_meanwhile_does_not_look_as_if_its_process_had_died(address: str) -> None:
    with opened(address) as store:
        first, second = store.create("run-1"), store.create("run-2")
        for journal in (first, second):
            journal.put(**FACTS)
        statuses = []
        for journal in read(store, [store.read(one) for one in ("run-1", "run-2")]):
            statuses.append(run_of(journal).status)
            if journal.run_id == "run-1":
                second.put(status="completed")
                second.close()
        first.close()
    assert statuses == ["running", "running"]
