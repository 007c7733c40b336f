"""Writes are committed together, fail by themselves, and are stored only while their run is held."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from store_kit import FACTS, ROW, WAIT_S, cut, done, opened, refused, until, write

from strands_cli.api import Redactor, RunRecordError, Unreachable
from strands_cli_postgres.commit import RunChanges
from strands_cli_postgres.postgres_store import PostgresStore

pytestmark = pytest.mark.postgres

CONNECTED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
WAITING = f"{CONNECTED} AND wait_event_type = 'Lock'"


@pytest.fixture
def found(address: str) -> Iterator[PostgresStore]:
    with opened(address) as store:
        yield store


def sql(address: str, statement: str, *values: Any) -> list[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def changes(address: str) -> int:
    """Return how many commits have written each run, in sum."""
    (row,) = sql(address, "SELECT sum(changes) FROM strands.runs")
    return int(row[0])


def test_rows_of_many_runs_are_committed_together(found: PostgresStore, address: str) -> None:
    journals = [found.create(f"run-{number}") for number in range(20)]

    async def use() -> None:
        await asyncio.gather(*(journal.write(done(number)) for number in range(50) for journal in journals))

    asyncio.run(use())
    assert sql(address, "SELECT count(*) FROM strands.effects") == [(1000,)]
    # The first commit has few of them; those that come meanwhile are in the next ones.
    assert changes(address) < 20 * 25
    for journal in journals:
        assert [row.key for row in journal.rows()] == [f"steps.{number}" for number in range(50)]
        journal.close()


def test_the_row_of_a_step_is_committed_before_the_next_call_begins(found: PostgresStore, address: str) -> None:
    with closing(found.create("run")) as journal, psycopg.connect(address) as blocking:
        blocking.execute("SELECT FROM strands.runs WHERE id = 'run' FOR UPDATE")

        async def use() -> None:
            # No call depends on it yet.
            await journal.write(replace(done(1), kind="step"))
            begun = asyncio.ensure_future(journal.begin(done(2)))
            await asyncio.to_thread(until, lambda: sql(address, WAITING) == [(1,)])
            assert not begun.done()
            blocking.rollback()
            await begun

        asyncio.run(use())
        with closing(found.open("run", hold=False)) as reader:
            assert [row.key for row in reader.rows()] == ["steps.1", "steps.2"]


def test_a_run_that_was_taken_over_learns_it_after_the_row_of_a_step(found: PostgresStore, address: str) -> None:
    with closing(found.create("run")) as journal:
        sql(address, "UPDATE strands.runs SET fence = fence + 1")
        write(journal, replace(done(1), kind="step"))
        assert isinstance(write(journal, done(2))[0], RunRecordError)
        with closing(found.open("run", hold=False)) as reader:
            assert [*reader.rows()] == []


def test_a_row_keeps_its_place_where_one_commit_has_its_start_and_its_end() -> None:
    changes = RunChanges(fence=1)
    for position, key in enumerate(("a", "b", "a"), 1):
        changes.add_effect((key, *(["x"] * 11), position))
    assert [(columns[0], columns[-1]) for columns in changes.effects.values()] == [("a", 1), ("b", 2)]


def test_what_one_run_cannot_store_fails_alone(found: PostgresStore) -> None:
    with closing(found.create("bad")) as bad, closing(found.create("good")) as good:

        async def use() -> list[Any]:
            odd = [
                replace(ROW, key="a\0b"),
                replace(ROW, key="\ud800"),
                replace(ROW, key="set", output={1}),
                replace(ROW, key="large", attempt=2**70),
                replace(ROW, key="cost", cost="free"),
            ]
            waiting = [bad.write(row) for row in odd] + [bad.write(done(1)), good.write(done(2))]
            return await asyncio.gather(*waiting, return_exceptions=True)

        *refusals, last, other = asyncio.run(use())
        assert [type(one) for one in refusals] == [RunRecordError] * 5
        assert (last, other) == (None, None)
        assert [row.key for row in bad.rows()] == ["steps.1"]
        refused(lambda: bad.put(status={1}))
        bad.put(status="completed")


def test_a_run_that_the_server_refuses_fails_alone(found: PostgresStore, address: str) -> None:
    sql(address, "ALTER TABLE strands.effects ADD CHECK (digest <> 'refused')")
    with closing(found.create("bad")) as bad, closing(found.create("good")) as good:
        stopped = threading.Event()
        bad.on_stop(stopped.set)

        async def use() -> list[Any]:
            refused_by_server = bad.write(replace(done(1), digest="refused"))
            waiting = [refused_by_server, *(good.write(done(number)) for number in range(9))]
            return await asyncio.gather(*waiting, return_exceptions=True)

        first, *others = asyncio.run(use())
        assert isinstance(first, RunRecordError)
        assert others == [None] * 9
        # After a commit that failed no later one is tried; the run is still held.
        assert isinstance(write(bad, done(2))[0], RunRecordError)
        assert not stopped.is_set()
        assert bad.is_held()
        assert write(good, done(10)) == [None]


def test_only_the_run_that_was_taken_over_is_lost(found: PostgresStore, address: str) -> None:
    with closing(found.create("lost")) as lost, closing(found.create("kept")) as kept:
        stopped, wrongly = threading.Event(), threading.Event()
        lost.on_stop(stopped.set)
        kept.on_stop(wrongly.set)
        sql(address, "UPDATE strands.runs SET fence = fence + 1 WHERE id = 'lost'")

        async def use() -> list[Any]:
            waiting = [journal.begin(done(number)) for number in range(5) for journal in (lost, kept)]
            return await asyncio.gather(*waiting, return_exceptions=True)

        results = asyncio.run(use())
        assert [type(one) for one in results[::2]] == [RunRecordError] * 5
        assert results[1::2] == [None] * 5
        assert stopped.wait(WAIT_S)
        refused(lambda: lost.put(status="completed"))
        assert not wrongly.is_set()
        with closing(found.open("lost", hold=False)) as reader:
            assert [*reader.rows()] == []


def test_a_lost_connection_stops_every_run_at_once_and_no_new_one(found: PostgresStore, address: str) -> None:
    events = [threading.Event() for _ in range(3)]
    journals = [found.create(f"run-{number}") for number in range(3)]
    for journal, event in zip(journals, events, strict=True):
        journal.on_stop(event.set)
    cut(address)
    # Nothing is written: the end of the connection is noticed by itself.
    assert all(event.wait(WAIT_S) for event in events)
    for journal in journals:
        assert isinstance(write(journal, done(1))[0], RunRecordError)
        late = threading.Event()
        journal.on_stop(late.set)
        assert late.is_set()
    with closing(found.create("new")) as new:
        assert write(new, done(1)) == [None]
    with closing(found.open("run-0")) as again:
        assert write(again, done(1)) == [None]
        # The one that lost it has no part in it any more, whatever it does.
        journals[0].close()
        assert again.is_held()
        assert write(again, done(2)) == [None]
    for journal in journals:
        journal.close()


def test_rows_that_wait_when_the_connection_is_lost_are_refused(found: PostgresStore, address: str) -> None:
    with closing(found.create("run")) as journal, psycopg.connect(address) as blocking:
        blocking.execute("SELECT FROM strands.runs WHERE id = 'run' FOR UPDATE")

        async def use() -> list[Any]:
            writing = [asyncio.ensure_future(journal.write(done(number))) for number in range(3)]
            await asyncio.to_thread(until, lambda: sql(address, WAITING) == [(1,)])
            writing.append(asyncio.ensure_future(journal.write(done(3))))
            await asyncio.to_thread(cut, address)
            return await asyncio.gather(*writing, return_exceptions=True)

        assert [type(one) for one in asyncio.run(use())] == [Unreachable] * 4
        with pytest.raises(RunRecordError):
            journal.note(done(4))


def test_a_request_to_stop_reaches_a_process_that_writes_nothing(found: PostgresStore) -> None:
    with closing(found.create("run")) as journal, closing(found.create("other")) as other:
        asked, wrongly = [], threading.Event()
        event = threading.Event()

        def stop() -> None:
            asked.append(1)
            threading.Thread(target=journal.close).start()
            event.set()

        journal.on_stop(stop)
        other.on_stop(wrongly.set)
        found.stop("run", WAIT_S)
        assert event.is_set()
        assert asked == [1]
        assert not wrongly.is_set()
        assert not found.open("run", hold=False).is_held()


def test_a_request_to_stop_is_not_for_who_continues(found: PostgresStore) -> None:
    with closing(found.create("run")):
        refused(lambda: found.stop("run", 0.1))
    with closing(found.open("run")) as journal:
        stopped = threading.Event()
        journal.on_stop(stopped.set)
        assert write(journal, done(1)) == [None]
        assert not stopped.is_set()


def test_secrets_are_in_no_table(found: PostgresStore, address: str) -> None:
    with closing(found.create("run")) as journal:
        journal.redactor = Redactor(["marked-secret-value"])
        journal.put(**FACTS, reason="the marked-secret-value")
        write(journal, done(1, {"a": "marked-secret-value"}), done(2, "marked-secret-value" * 9000))
        assert journal.get("reason") == "the [secret]"
        row = journal.row("steps.1")
        assert row is not None
        assert row.output == {"a": "[secret]"}
    for table in ("runs", "facts", "effects", "outputs"):
        assert "marked-secret" not in str(sql(address, f"SELECT * FROM strands.{table}"))


def test_a_large_output_is_read_only_when_it_is_asked_for(found: PostgresStore, address: str) -> None:
    with closing(found.create("run")) as journal:
        write(journal, done(1, "x" * 70_000), done(2, "y"))
    sql(address, "DELETE FROM strands.outputs")
    with closing(found.open("run", hold=False)) as reader:
        first, second = reader.rows()
        assert (first.key, second.output) == ("steps.1", "y")
        with pytest.raises(RunRecordError):
            _ = first.output
        damaged = next(reader.tolerant().rows())
        assert damaged.output is None


def test_a_resumed_run_reads_its_rows_ahead(found: PostgresStore, address: str) -> None:
    with closing(found.create("run")) as journal:
        write(journal, *(replace(done(number), kind="step" if number % 2 else "model") for number in range(1000)))
    found.close()

    def transactions() -> int:
        """Return the number of the database's transactions, as the processes that have ended reported it."""
        until(lambda: sql(address, CONNECTED) == [(1,)])
        (row,) = sql(address, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return int(row[0])

    before = transactions()
    with opened(address) as again, closing(again.open("run")) as journal:
        for number in range(1000):
            row = journal.row(f"steps.{number}")
            assert row is not None
            assert row.key == f"steps.{number}"
            assert journal.row(f"steps.{number}/tool.1.x") is None
            assert [journal.get(name) for name in FACTS] == [None] * len(FACTS)
    # One for each row would be a thousand.
    assert transactions() - before < 60


def test_a_run_that_has_done_nothing_is_known_to_have_no_rows(found: PostgresStore, address: str) -> None:
    found.create("run").close()
    with closing(found.open("run")) as journal:
        # Nothing is asked, since who asks waits in the event loop with all other runs.
        sql(address, "ALTER TABLE strands.effects RENAME TO elsewhere")
        assert list(journal.rows()) == list(journal.rows("tool")) == list(journal.rows(below="steps.0")) == []
        assert journal.row("steps.0") is None
        sql(address, "ALTER TABLE strands.elsewhere RENAME TO effects")
        write(journal, done(0, "a"), replace(done(1), key="steps.0/tool.0.x", kind="tool"))
        assert [row.key for row in journal.rows("tool")] == ["steps.0/tool.0.x"]
        assert [row.key for row in journal.rows(below="steps.0")] == ["steps.0/tool.0.x"]
        assert [row.key for row in journal.rows()] == ["steps.0", "steps.0/tool.0.x"]
        assert list(journal.rows("human")) == []


def test_what_was_read_ahead_is_not_older_than_what_is_written(found: PostgresStore) -> None:
    with closing(found.create("run")) as journal:
        write(journal, *(done(number, "old") for number in range(50)))
    with closing(found.open("run")) as journal:
        for number in range(0, 50, 2):
            assert journal.row(f"steps.{number}") is not None
            write(journal, done(number + 1, "new"))
        # From the last one back, so that none is read again with one before it.
        rows = [journal.row(f"steps.{number}") for number in reversed(range(50))]
        assert [row and row.output for row in rows] == ["new", "old"] * 25


def test_a_reader_sees_each_fact_as_it_is_now(found: PostgresStore) -> None:
    with closing(found.create("run")) as journal, closing(found.open("run", hold=False)) as reader:
        for status in ("running", "waiting", "completed"):
            journal.put(status=status)
            assert reader.get("status") == status


def test_a_process_with_a_copy_of_a_connection_does_not_use_it(found: PostgresStore) -> None:
    import multiprocessing

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with closing(found.create("run")) as journal:

        def child() -> None:
            with contextlib.suppress(RunRecordError):
                journal.put(status="completed")
                theirs.send("stored")
            # What reads makes connections of its own.
            theirs.send(f"refused, {found.state('run') == seen}")

        seen = found.state("run")
        process = context.Process(target=child)
        process.start()
        assert ours.poll(WAIT_S)
        assert ours.recv() == "refused, True"
        process.join(WAIT_S)
        assert found.state("run") == seen
        assert write(journal, done(1)) == [None]
