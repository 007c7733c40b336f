"""The contract of every journal, as checks for authors of another backend.

As pytest tests: `class TestMyJournal(JournalContract)` with a `make_journal`. Without pytest: `check_journal`.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import SkipTest

from strands_cli.api import Journal, Row, RunRecordError, Usage
from strands_cli_dev.conformance_checks import expect, problems_of, write_rows

STARTED = Row("steps.0/model.2", "model", "started", "digest-1", started_at=12.5)
DONE = replace(
    STARTED,
    status="done",
    attempt=2,
    output={"text": "café \U0001f600", "list": [1, None, True, 0.5, "1"]},
    usage=Usage(3, 4, 5, 6),
    cost=0.25,
    ended_at=13.5,
    detail={"rule": "read-only", "nested": {"n": [1]}},
)
# Larger than the outputs that SQLite's journal stores in its database.
LARGE = {"text": "ü" * 200_000}
ROWS = 200
WAIT_S = 60.0


class JournalContract:
    """The checks; derive from it and define how a journal is made and, if it outlives its process, opened again.

    Each check gets a fresh directory as `tmp_path`, pytest's fixture of that name. The class of a `durable` journal
    must be importable by name, since the check of a killed process makes an instance in a child process.
    """

    durable = True

    def make_journal(self, directory: Path) -> Journal:
        """Return the empty journal of a new run; it stores everything in `directory`."""
        raise NotImplementedError

    def open_journal(self, directory: Path) -> Journal:
        """Return the journal that was made for `directory` before, to continue its run."""
        raise NotImplementedError

    def read_journal(self, directory: Path) -> Journal:
        """Return a view of a journal that another object may be writing."""
        raise NotImplementedError

    def test_a_written_row_comes_back_whole(self, tmp_path: Path) -> None:
        """Every field of a row survives, and zero, null and absence stay distinct."""
        with self._journal(tmp_path) as journal:
            for row in (DONE, replace(DONE, cost=0.0), replace(DONE, cost=None, output=None, ended_at=None, detail={})):
                write_rows(journal, row)
                _expect_row(journal.row(DONE.key), row)
                _expect_row(next(journal.rows()), row)

    def test_a_large_output_comes_back_whole(self, tmp_path: Path) -> None:
        """Outputs have no upper size that a model's answer could reach."""
        with self._journal(tmp_path) as journal:
            write_rows(journal, replace(DONE, output=LARGE))
            _expect_row(journal.row(DONE.key), replace(DONE, output=LARGE))

    def test_a_noted_row_is_seen_at_once(self, tmp_path: Path) -> None:
        """A note needs no commit to be seen by its own process."""
        with self._journal(tmp_path) as journal:

            async def use() -> None:
                journal.note(STARTED)
                _expect_row(journal.row(STARTED.key), STARTED)
                expect([row.key for row in journal.rows()] == [STARTED.key], "rows() does not yield a noted row")

            asyncio.run(use())

    def test_a_begun_row_is_seen_at_once(self, tmp_path: Path) -> None:
        """A row of which `begin` has returned is seen by its own process, and comes before later rows."""
        with self._journal(tmp_path) as journal:

            async def use() -> None:
                await journal.begin(STARTED)
                _expect_row(journal.row(STARTED.key), STARTED)
                await journal.write(replace(DONE, key="a"))
                await journal.write(DONE)

            asyncio.run(use())
            rows = [(row.key, row.status) for row in journal.rows()]
            expect(rows == [(DONE.key, "done"), ("a", "done")], f"the rows are {rows}")

    def test_the_newest_row_of_a_key_counts(self, tmp_path: Path) -> None:
        """A later row replaces an earlier one of its key, whether noted or written."""
        with self._journal(tmp_path) as journal:

            async def use() -> None:
                journal.note(STARTED)
                await journal.write(replace(DONE, output="first"))
                await asyncio.gather(*(journal.write(replace(DONE, output=number)) for number in range(5)))

            asyncio.run(use())
            _expect_row(journal.row(DONE.key), replace(DONE, output=4))
            expect(len(list(journal.rows())) == 1, "one key has several rows")

    def test_rows_come_in_the_order_of_their_first_start(self, tmp_path: Path) -> None:
        """Neither keys nor later updates nor clocks change the order."""
        with self._journal(tmp_path) as journal:
            keys = [f"tasks.{number * 7 % ROWS}" for number in range(ROWS)]

            async def use() -> None:
                for number, key in enumerate(keys):
                    journal.note(replace(STARTED, key=key, started_at=-float(number)))
                for key in reversed(keys):
                    await journal.write(replace(DONE, key=key))

            asyncio.run(use())
            keys_read = [row.key for row in journal.rows()]
            expect(keys_read == keys, f"the order is {keys_read[:5]}..., not {keys[:5]}...")

    def test_rows_of_one_kind_are_those_of_that_kind(self, tmp_path: Path) -> None:
        """The kind filters, and keeps the order."""
        with self._journal(tmp_path) as journal:
            write_rows(journal, DONE, replace(DONE, key="b", kind="tool"), replace(DONE, key="a", kind="tool"))
            expect([row.key for row in journal.rows("tool")] == ["b", "a"], "rows('tool') are not the tools' rows")
            expect(list(journal.rows("human")) == [], "rows('human') yields rows of another kind")

    def test_rows_below_a_key_are_those_in_it(self, tmp_path: Path) -> None:
        """A key that only begins like another one is not below it, nor is the key itself; kind and order hold."""
        with self._journal(tmp_path) as journal:
            keys = [
                "steps.1/tool.1.b",
                "steps.1/tool.0.a",
                "steps.1",
                "steps.10/tool.0.a",
                "steps.1.x",
                "steps.1/model.0",
            ]
            write_rows(journal, *(replace(DONE, key=key, kind="tool" if "tool" in key else "model") for key in keys))
            keys_read = [[row.key for row in journal.rows(kind, below="steps.1")] for kind in ("model", "tool")]
            keys_expected = [keys[-1:], keys[:2]]
            expect(
                keys_read == keys_expected,
                f"the rows of models and tools below steps.1 are {keys_read}, not {keys_expected}",
            )

    def test_concurrent_writes_are_all_kept(self, tmp_path: Path) -> None:
        """Branches that finish together lose nothing."""
        with self._journal(tmp_path) as journal:
            rows = [replace(DONE, key=f"branches.{number}", output=number) for number in range(ROWS)]
            write_rows(journal, *rows)
            for row in rows:
                _expect_row(journal.row(row.key), row)
            expect(len(list(journal.rows())) == ROWS, "rows() does not yield every row")

    def test_what_was_never_written_is_none(self, tmp_path: Path) -> None:
        """Absence is not an error."""
        with self._journal(tmp_path) as journal:
            write_rows(journal, DONE)
            expect(journal.row("steps.0") is None, "a key that is the beginning of another is found")
            expect(journal.get("status") is None, "a fact that was never put is found")

    def test_facts_come_back_and_are_replaced_one_by_one(self, tmp_path: Path) -> None:
        """Facts hold any JSON; putting one leaves the others."""
        facts = {"status": "running", "inputs": {"topic": "café", "n": None, "list": [1, 0.5, True]}, "reason": None}
        with self._journal(tmp_path) as journal:
            journal.put(**facts)
            journal.put(status="completed")
            for name, value in {**facts, "status": "completed"}.items():
                expect(journal.get(name) == value, f"the fact {name!r} is {journal.get(name)!r}, not {value!r}")

    def test_a_stored_value_is_a_copy(self, tmp_path: Path) -> None:
        """Changes to an object after writing it, or after reading it, do not change the journal."""
        with self._journal(tmp_path) as journal:
            output, inputs = {"texts": ["hello"]}, {"topic": ["bees"]}
            write_rows(journal, replace(DONE, output=output))
            journal.put(inputs=inputs)
            for _ in range(2):
                output["texts"].append("changed")
                inputs["topic"].append("changed")
                row, fact = journal.row(DONE.key), journal.get("inputs")
                expect(row is not None and row.output == {"texts": ["hello"]}, "a stored output was changed")
                expect(fact == {"topic": ["bees"]}, "a stored fact was changed")
                output, inputs = (row.output if row else output), fact

    def test_what_is_not_json_is_refused_alone(self, tmp_path: Path) -> None:
        """A value that cannot be stored is a `RunRecordError` of its own write only."""
        with self._journal(tmp_path) as journal:

            async def use() -> list[Any]:
                rows = [DONE, replace(DONE, key="bad", output={1j}), replace(DONE, key="good")]
                return await asyncio.gather(*(journal.write(row) for row in rows), return_exceptions=True)

            first, bad, last = asyncio.run(use())
            expect(isinstance(bad, RunRecordError), f"writing a set returned {bad!r}, not a RunRecordError")
            expect(first is None and last is None, "another write failed with it")
            expect([row.key for row in journal.rows()] == [DONE.key, "good"], "the valid rows are missing")

    def test_a_row_is_durable_when_write_returns(self, tmp_path: Path) -> None:
        """Another reader sees it while the journal is still open."""
        self._require_durable()
        with self._journal(tmp_path) as journal:

            async def use() -> None:
                await journal.write(DONE)
                _expect_row(self._seen_elsewhere(tmp_path, DONE.key), DONE)

            asyncio.run(use())

    def test_a_fact_is_durable_when_put_returns(self, tmp_path: Path) -> None:
        """Another reader sees it while the journal is still open."""
        self._require_durable()
        with self._journal(tmp_path) as journal:
            journal.put(status="waiting")
            with contextlib.closing(self.read_journal(tmp_path)) as reader:
                expect(reader.get("status") == "waiting", "the fact is not there yet")

    def test_facts_that_are_stored_are_durable(self, tmp_path: Path) -> None:
        """Another reader sees them when `store` returns, and those that were put before."""
        self._require_durable()
        with self._journal(tmp_path) as journal:

            async def use() -> None:
                journal.put(status="running", inputs={"topic": "bees"})
                await journal.store(status="completed", response="done")
                with contextlib.closing(self.read_journal(tmp_path)) as reader:
                    facts_read = [reader.get(name) for name in ("status", "response", "inputs")]
                expect(facts_read == ["completed", "done", {"topic": "bees"}], f"the facts are {facts_read}")

            asyncio.run(use())

    def test_closing_commits_what_was_noted(self, tmp_path: Path) -> None:
        """A run that ends loses no note."""
        self._require_durable()
        journal = self.make_journal(tmp_path)

        async def use() -> None:
            journal.note(STARTED)
            journal.close()

        asyncio.run(use())
        _expect_row(self._seen_elsewhere(tmp_path, STARTED.key), STARTED)

    def test_a_run_goes_on_where_it_was_left(self, tmp_path: Path) -> None:
        """A reopened journal has its rows, their order and its facts; a changed row keeps its place."""
        self._require_durable()
        with self._journal(tmp_path) as journal:
            journal.put(inputs={"topic": "bees"})
            write_rows(journal, replace(STARTED, key="b"), replace(DONE, key="a", output=LARGE))
        with contextlib.closing(self.open_journal(tmp_path)) as journal:
            _expect_row(journal.row("a"), replace(DONE, key="a", output=LARGE))
            expect(journal.get("inputs") == {"topic": "bees"}, "the facts are gone")
            write_rows(journal, replace(DONE, key="c"), replace(DONE, key="b"))
            expect([row.key for row in journal.rows()] == ["b", "a", "c"], "the order has changed")

    def test_one_run_is_held_by_one(self, tmp_path: Path) -> None:
        """Two processes with one run would do everything twice; the second is refused until the first has closed it."""
        self._require_durable()
        with self._journal(tmp_path):
            try:
                second = self.open_journal(tmp_path)
            except RunRecordError:
                pass
            else:
                second.close()
                raise AssertionError("two journals hold one run")
        self.open_journal(tmp_path).close()

    def test_the_death_of_the_process_loses_nothing_that_was_written(self, tmp_path: Path) -> None:
        """After SIGKILL every row whose `write` had returned is present, and the run can be held again."""
        self._require_durable()
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_write_until_killed, args=(type(self), tmp_path, theirs), daemon=True)
        process.start()
        theirs.close()
        written = -1
        # The pipe ends early if the other process does.
        with contextlib.suppress(EOFError):
            while written < ROWS and ours.poll(WAIT_S):
                written = ours.recv()
        process.kill()
        process.join(WAIT_S)
        ours.close()
        expect(written >= ROWS, f"the other process wrote {written} of {ROWS} rows")
        with contextlib.closing(self.open_journal(tmp_path)) as journal:
            keys = {row.key for row in journal.rows()}
            missing_numbers = [number for number in range(written + 1) if f"steps.{number}" not in keys]
            expect(not missing_numbers, f"rows that were written are lost: {missing_numbers[:10]}")

    @contextlib.contextmanager
    def _journal(self, directory: Path) -> Iterator[Journal]:
        journal = self.make_journal(directory)
        try:
            yield journal
        finally:
            journal.close()

    def _require_durable(self) -> None:
        if not self.durable:
            raise SkipTest("this journal does not outlive its process")

    def _seen_elsewhere(self, directory: Path, key: str) -> Row | None:
        with contextlib.closing(self.read_journal(directory)) as reader:
            return reader.row(key)


def check_journal(contract: JournalContract, directory: Path) -> dict[str, str]:
    """Run every check without pytest.

    Args:
        contract: How the journal is made.
        directory: An empty directory; each check gets one below it.

    Returns:
        The problems, by the name of the check; empty for a journal that fulfils the contract.
    """
    return problems_of(contract, directory)


def _write_until_killed(contract: type[JournalContract], directory: Path, written: Connection) -> None:
    """Write rows and report each when it is written, then wait for the kill."""
    journal = contract().make_journal(directory)

    async def work() -> None:
        for number in range(ROWS + 1):
            journal.note(replace(STARTED, key=f"steps.{number}"))
            await journal.write(replace(DONE, key=f"steps.{number}", output=number))
            written.send(number)

    asyncio.run(work())
    time.sleep(WAIT_S)


def _expect_row(stored: Row | None, expected: Row) -> None:
    if stored is None:
        raise AssertionError(f"the row {expected.key} is missing")
    differing = [field.name for field in fields(Row) if getattr(stored, field.name) != getattr(expected, field.name)]
    expect(not differing, f"the row {expected.key} differs in {', '.join(differing)}")
