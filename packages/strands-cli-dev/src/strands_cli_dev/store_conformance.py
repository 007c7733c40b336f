"""The contract of every store of runs, as checks for authors of another one.

As pytest tests: `class TestMyStore(StoreContract)` with an `open_store`. Without pytest: `check_store`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

from strands_cli.api import Row, RunRecordError, RunStore, StoredJournal, journals_of
from strands_cli_dev.conformance_checks import expect, problems_of, write_rows
from strands_cli_dev.run_holder import DONE, FACTS, WAIT_S, RunHolder, create, created

# Larger than outputs that stores keep in a row; a character of two units of UTF-16; a zero and half of such a pair.
LARGE = {"text": "ü" * 200_000}
ODD = {"text": "a\0b \ud800 \U0001f600", "\0": ["\udfff"]}
FIRST, SECOND = "20261121-033012-a1b2c3", "20261121-033013-d4e5f6"
BATCH_ID = "letters-1a2b3c4d"


class StoreContract:
    """The checks; derive from it and define how the store is opened.

    Each check gets a fresh directory as `tmp_path`, pytest's fixture of that name. The class must be importable by
    name, since some checks make an instance in a child process.
    """

    def open_store(self, directory: Path) -> RunStore:
        """Return the store of `directory`, empty at first; also called in other processes."""
        raise NotImplementedError

    def cut_off(self, directory: Path, run_id: str) -> None:
        """Make the process that holds a run lose its hold while it goes on, as a broken connection does.

        Raises:
            SkipTest: A process that lives cannot lose its hold.
        """
        raise SkipTest("a process that lives keeps its hold")

    def test_a_new_run_is_in_the_list(self, tmp_path: Path) -> None:
        """The list, `read` and another reader have the values of the facts."""
        with self._store(tmp_path) as store, created(store, FIRST) as journal:
            expect(
                (journal.run_id, str(journal.place)) == (FIRST, str(store.place)), "the journal says that it is another"
            )
            run = store.read(FIRST)
            expect(store.runs() == ([run], []), f"the list is {store.runs()}, not {run}")
            facts = (run.id, run.workflow, run.pattern, run.file, run.status, run.started_at)
            expect(facts == (FIRST, *FACTS.values()), f"the run has {facts}")
            journal.put(status="failed", ended_at=1_700_000_100.0, reason="budget", worked_s=2.5)
            run = store.read(FIRST)
            expect(
                (run.status, run.ended_at, run.reason, run.worked_s) == ("failed", 1_700_000_100.0, "budget", 2.5),
                f"the run has {run} after it ended",
            )
            expect(store.runs()[0] == [run], "the list has not what the run has")

    def test_the_list_has_the_newest_first(self, tmp_path: Path) -> None:
        """The start counts, and of equal ones the id; statuses and patterns are texts that may be new."""
        with self._store(tmp_path) as store:
            for run_id, started_at in (("b", 5.0), ("c", 5.0), ("a", 9.0)):
                create(store, run_id, started_at=started_at, status="queued", pattern="batch").close()
            runs, problems = store.runs()
            expect([run.id for run in runs] == ["a", "c", "b"], f"the order is {[run.id for run in runs]}")
            expect({(run.status, run.pattern) for run in runs} == {("queued", "batch")}, "a status was replaced")
            expect(problems == [], f"there are problems: {problems}")

    def test_runs_since_a_moment_have_what_they_spent(self, tmp_path: Path) -> None:
        """Runs that ended before it are left out, and others are not; `spent` and `user` are facts."""
        spent = [["2026-11-21", "openai/gpt-5", 1, 20, 0.5, 0]]
        with self._store(tmp_path) as store:
            for run_id, ended_at in (("a", 1_700_000_000.0), ("b", 1_700_000_200.0), ("c", None)):
                with contextlib.closing(create(store, run_id, started_at=5.0)) as journal:
                    journal.put(status="failed", ended_at=ended_at, user="ann", spent=spent)
            if (since := getattr(store, "runs_since", None)) is None:
                raise SkipTest("a store without it lists all runs")
            runs = since(1_700_000_100.0)
            expect([run.id for run in runs] == ["c", "b"], f"they are {[run.id for run in runs]}")
            expect({run.user for run in runs} == {"ann"}, f"the users are {[run.user for run in runs]}")
            expect([run.spent for run in runs] == [spent, spent], f"they spent {[run.spent for run in runs]}")

    def test_a_run_is_found_by_its_id_the_start_of_it_and_last(self, tmp_path: Path) -> None:
        """A name that none or several runs have is an error."""
        with self._store(tmp_path) as store:
            self._expect_unknown(lambda: store.find("last"))
            for number, run_id in enumerate((FIRST, SECOND, "batch-1234", "batch-1234.row")):
                create(store, run_id, started_at=float(number)).close()
            for name, expected_id in (
                (FIRST, FIRST),
                (SECOND[:-3], SECOND),
                ("last", "batch-1234.row"),
                ("batch-1234", "batch-1234"),
            ):
                expect(store.find(name) == expected_id, f"{name} is {store.find(name)}, not {expected_id}")
            for name in ("2026", "%", "", "batch-1234.rows", "_"):
                self._expect_unknown(partial(store.find, name))

    def test_a_name_means_a_batch_and_not_its_rows(self, tmp_path: Path) -> None:
        """The start of its id, and `last` while rows begin; a row is found by its own id, or the start of that."""
        rows = [f"{BATCH_ID}.{number:016x}" for number in (1, 2)]
        with self._store(tmp_path) as store:
            for number, run_id in enumerate((FIRST, BATCH_ID, *rows)):
                create(store, run_id, started_at=float(number)).close()
            for name, expected_id in (
                (BATCH_ID, BATCH_ID),
                (BATCH_ID[:4], BATCH_ID),
                ("last", BATCH_ID),
                (rows[0], rows[0]),
            ):
                expect(store.find(name) == expected_id, f"{name} is {store.find(name)}, not {expected_id}")

    def test_a_run_without_facts_is_a_problem_of_the_list(self, tmp_path: Path) -> None:
        """A process can die before it has written the facts of the run; such a run can be deleted."""
        with self._store(tmp_path) as store:
            store.create(FIRST).close()
            runs, problems = store.runs()
            expect((runs, len(problems)) == ([], 1), f"the list is {runs}, {problems}")
            self._expect_unknown(lambda: store.read(FIRST))
            store.delete(FIRST)
            expect(store.runs() == ([], []), "it is still there")

    def test_there_is_one_run_with_an_id(self, tmp_path: Path) -> None:
        """A second one with its id is refused, and changes nothing."""
        with self._store(tmp_path) as store:
            with created(store, FIRST) as journal:
                write_rows(journal, DONE)
                self._expect_unknown(lambda: store.create(FIRST))
            self._expect_unknown(lambda: store.create(FIRST))
            with contextlib.closing(store.open(FIRST, hold=False)) as reader:
                expect(reader.row(DONE.key) == DONE, "the first one has lost a row")

    def test_a_run_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        """Nothing is made of an unknown name, whatever it looks like."""
        with self._store(tmp_path) as store:
            for run_id in (FIRST, f"../{FIRST}", "'; DROP TABLE runs; --"):
                reading = partial(store.open, hold=False)
                uses: tuple[Callable[[str], Any], ...] = (store.open, reading, store.read, store.delete, store.state)
                for use in uses:
                    self._expect_unknown(partial(use, run_id))
            expect(store.runs() == ([], []), "there is a run now")

    def test_the_runs_of_a_store_do_not_mix(self, tmp_path: Path) -> None:
        """One process holds several runs, which write at the same time under the same keys."""
        with self._store(tmp_path) as store, created(store, FIRST) as first_run, created(store, SECOND) as second_run:

            async def use() -> None:
                rows = [(journal, number) for number in range(50) for journal in (first_run, second_run)]
                await asyncio.gather(*(journal.write(_numbered(number, journal.run_id)) for journal, number in rows))

            asyncio.run(use())
            for journal in (first_run, second_run):
                outputs = [row.output for row in journal.rows()]
                expect(outputs == [journal.run_id] * 50, f"{journal.run_id} has {outputs}")

    def test_values_of_every_kind_come_back(self, tmp_path: Path) -> None:
        """Large outputs, characters of every kind, and other values than text come back whole, for all readers."""
        rows = [
            replace(DONE, key=f"steps.{number}", output=value) for number, value in enumerate((LARGE, ODD, 0, [], ""))
        ]
        with self._store(tmp_path) as store:
            with created(store, FIRST) as journal:
                journal.put(inputs=ODD, reason="a\0b", files={"a": LARGE["text"]})
                write_rows(journal, *rows)
                self._expect_rows(journal, rows)
            for hold in (False, True):
                with contextlib.closing(store.open(FIRST, hold=hold)) as journal:
                    self._expect_rows(journal, rows)
                    expect(journal.get("inputs") == ODD, "a fact is not what was put")
                    expect(journal.get("files") == {"a": LARGE["text"]}, "a large fact is not what was put")
            expect(len(store.runs()[0]) == 1, "it is not in the list")

    def test_many_runs_are_read_as_each_by_itself(self, tmp_path: Path) -> None:
        """In the wanted order; a missing run is an error in its place and ends nothing."""
        runs = {f"run-{number}": _rows_of_a_run(number) for number in range(4)}
        with self._store(tmp_path) as store:
            for run_id, rows in runs.items():
                with created(store, run_id) as journal:
                    journal.put(inputs={"topic": run_id, "odd": ODD}, files={"a": LARGE["text"]})
                    write_rows(journal, *rows)
            run_ids = ["run-2", FIRST, "run-0", "run-3", "run-1"]
            with contextlib.closing(store.open("run-3")):
                for run_id, run_journal in zip(run_ids, journals_of(store, iter(run_ids)), strict=True):
                    if isinstance(run_journal, RunRecordError):
                        expect(run_id == FIRST, f"{run_id} cannot be read: {run_journal}")
                        continue
                    with contextlib.closing(run_journal):
                        self._expect_same(store, run_id, run_journal, runs[run_id])

    def _expect_same(self, store: RunStore, run_id: str, journal: StoredJournal, rows: list[Row]) -> None:
        """Check that one of many journals has the content of the run's own journal."""
        identity = (journal.run_id, str(journal.place), journal.record)
        with contextlib.closing(store.open(run_id, hold=False)) as alone:
            expect(identity == (run_id, str(alone.place), alone.record), f"it says that it is {identity}")
            expect(journal.is_held() == alone.is_held() == (run_id == "run-3"), "whether it is held is wrong")
            for name in (*FACTS, "inputs", "files", "nothing"):
                expect(journal.get(name) == alone.get(name), f"the fact {name} is {journal.get(name)}")
        self._expect_rows(journal, rows)
        self._expect_rows(journal.tolerant(), rows)
        expect([*journal.rows("tool")] == [row for row in rows if row.kind == "tool"], "rows of a kind are others")
        below = [row for row in rows if row.key.startswith("steps.1/")]
        expect([*journal.rows(below="steps.1")] == below, "rows below a key are others")
        expect(journal.row("steps.9") is None, "there is a row that was not written")

    def test_a_journal_is_usable_when_its_store_is_closed(self, tmp_path: Path) -> None:
        """Those who open a run need not keep the store."""
        with self._store(tmp_path) as store:
            journal = create(store, FIRST)
        with contextlib.closing(journal):
            write_rows(journal, DONE)
            expect(journal.row(DONE.key) == DONE, "the row is missing")
        with self._store(tmp_path) as store:
            reader = store.open(FIRST, hold=False)
        with contextlib.closing(reader):
            expect([*reader.rows()] == [DONE], "the row is missing")

    def test_one_process_holds_a_run(self, tmp_path: Path) -> None:
        """Others are refused, and may read; from when it is released another one may hold it."""
        with self._store(tmp_path) as store, self._child(tmp_path, FIRST) as child:
            child.expect("created")
            self._expect_unknown(lambda: store.open(FIRST))
            self._expect_unknown(lambda: store.delete(FIRST))
            with contextlib.closing(store.open(FIRST, hold=False)) as reader:
                expect(reader.is_held(), "it is not held")
                expect(reader.row(DONE.key) == DONE, "its row cannot be read")
            expect(store.read(FIRST).status == "running", "it does not run")
            child.tell("release")
            child.expect("released")
            with contextlib.closing(store.open(FIRST)) as journal:
                expect(journal.is_held(), "it is not held")

    def test_a_run_whose_process_was_killed_is_taken_over(self, tmp_path: Path) -> None:
        """After SIGKILL it is interrupted, has all that was written, and is continued."""
        with self._store(tmp_path) as store:
            with self._child(tmp_path, FIRST) as child:
                child.expect("created")
                state = store.state(FIRST)
                child.kill()
                end = time.monotonic() + WAIT_S
                while store.read(FIRST).status == "running" and time.monotonic() < end:
                    state = store.wait(state, FIRST, wait_s=WAIT_S)
            expect(store.read(FIRST).status == "interrupted", f"it is {store.read(FIRST).status}")
            expect([run.status for run in store.runs()[0]] == ["interrupted"], "the list says something else")
            with contextlib.closing(store.open(FIRST)) as journal:
                expect([*journal.rows()] == [DONE], "what was written is lost")
                expect(store.read(FIRST).status == "running", "it does not run")
                write_rows(journal, replace(DONE, key="steps.1"))
            with contextlib.closing(store.open(FIRST, hold=False)) as reader:
                expect([row.key for row in reader.rows()] == [DONE.key, "steps.1"], "its rows are others")

    def test_who_has_lost_a_run_cannot_write_it(self, tmp_path: Path) -> None:
        """Its work is stopped, no effect begins, and nothing that it writes is stored."""
        with self._store(tmp_path) as store:
            stopped = threading.Event()
            lost_journal = create(store, FIRST)
            lost_journal.on_stop(stopped.set)
            write_rows(lost_journal, DONE)
            with contextlib.ExitStack() as uncut:
                uncut.callback(lost_journal.close)  # where this store has nothing to cut, or does not stop the work
                self.cut_off(tmp_path, FIRST)
                expect(stopped.wait(WAIT_S), "its work was not stopped")
                uncut.pop_all()
            with contextlib.closing(store.open(FIRST)) as journal:
                late = replace(DONE, key="steps.9")
                for use in (lost_journal.write, lost_journal.begin):
                    self._expect_unknown(partial(_finish, use, late))
                self._expect_unknown(lambda: lost_journal.put(status="completed"))
                with contextlib.suppress(RunRecordError):
                    lost_journal.note(late)
                lost_journal.close()
                write_rows(journal, replace(DONE, key="steps.1"))
                expect([row.key for row in journal.rows()] == [DONE.key, "steps.1"], "a late row was stored")
                expect(journal.get("status") == "running", "a late fact was stored")

    def test_a_run_is_stopped(self, tmp_path: Path) -> None:
        """The process that holds it is asked, and when `stop` returns it holds the run no longer."""
        with self._store(tmp_path) as store, self._child(tmp_path, FIRST) as child:
            child.expect("created")
            store.stop(FIRST, WAIT_S)
            with contextlib.closing(store.open(FIRST)) as journal:
                expect(journal.row(DONE.key) == DONE, "its row is lost")
            store.stop(FIRST, WAIT_S)  # nothing to do

    def test_a_process_that_does_not_stop_is_an_error(self, tmp_path: Path) -> None:
        """It goes on with its run."""
        with self._store(tmp_path) as store, self._child(tmp_path, FIRST, is_deaf=True) as child:
            child.expect("created")
            self._expect_unknown(lambda: store.stop(FIRST, 0.1))
            expect(store.read(FIRST).status == "running", "it does not run")

    def test_a_deleted_run_is_gone(self, tmp_path: Path) -> None:
        """The others stay, and its id is free again."""
        with self._store(tmp_path) as store:
            for run_id in (FIRST, SECOND):
                with created(store, run_id) as journal:
                    write_rows(journal, replace(DONE, output=LARGE))
            store.delete(FIRST)
            self._expect_unknown(lambda: store.read(FIRST))
            expect([run.id for run in store.runs()[0]] == [SECOND], "the list has other runs")
            with created(store, FIRST) as journal:
                expect([*journal.rows()] == [], "it has rows of the deleted one")
            with contextlib.closing(store.open(SECOND, hold=False)) as reader:
                expect([row.output for row in reader.rows()] == [LARGE], "the other one has lost its output")

    def test_the_state_of_a_run_changes_with_it(self, tmp_path: Path) -> None:
        """It is the same while nothing happens, and differs after a row, a fact, and the end of the process's work."""
        with self._store(tmp_path) as store:
            journal = create(store, FIRST)
            changes: list[Callable[[], None]] = [
                lambda: write_rows(journal, DONE),
                lambda: journal.put(status="completed"),
                journal.close,
            ]
            for number, change in enumerate(changes):
                state = self._settled(store, FIRST)
                change()
                now = store.wait(state, FIRST, wait_s=WAIT_S)
                expect(now != state, f"the state is the same after change {number}")
            store.delete(FIRST)
            self._expect_unknown(lambda: store.wait(state, FIRST, wait_s=WAIT_S))

    def test_the_state_of_the_list_changes_with_it(self, tmp_path: Path) -> None:
        """It differs after a new run, another status, and a deletion."""
        with self._store(tmp_path) as store:
            changes: list[Callable[[], object]] = [
                lambda: create(store, FIRST).close(),
                lambda: create(store, SECOND, status="completed").close(),
                lambda: self._put(store, FIRST, status="cancelled", ended_at=5.0),
                lambda: store.delete(SECOND),
            ]
            for number, change in enumerate(changes):
                state = self._settled(store, None)
                change()
                now = store.wait(state, wait_s=WAIT_S)
                expect(now != state, f"the state is the same after change {number}")

    def _put(self, store: RunStore, run_id: str, **facts: Any) -> None:
        with contextlib.closing(store.open(run_id)) as journal:
            journal.put(**facts)

    def _settled(self, store: RunStore, run_id: str | None) -> object:
        """Return a state that stays: a change a moment before a look may count again at the next one."""
        end, state = time.monotonic() + WAIT_S, store.state(run_id)
        while (now := store.wait(state, run_id, wait_s=0.2)) != state:
            expect(time.monotonic() < end, "the state changes although nothing happens")
            state = now
        return state

    @contextlib.contextmanager
    def _store(self, directory: Path) -> Iterator[RunStore]:
        with contextlib.closing(self.open_store(directory)) as store:
            yield store

    @contextlib.contextmanager
    def _child(self, directory: Path, run_id: str, *, is_deaf: bool = False) -> Iterator[RunHolder]:
        child = RunHolder(type(self), directory, run_id, is_deaf=is_deaf)
        try:
            yield child
        finally:
            child.kill()

    def _expect_unknown(self, use: Callable[[], Any]) -> None:
        try:
            returned = use()
        except RunRecordError:
            return
        raise AssertionError(f"it returned {returned!r}, and must raise RunRecordError")

    def _expect_rows(self, journal: StoredJournal, rows: list[Row]) -> None:
        for row in rows:
            stored = journal.row(row.key)
            expect(stored == row, f"the row {row.key} is not what was written")
        expect([*journal.rows()] == rows, "rows() are not what was written")


def check_store(contract: StoreContract, directory: Path) -> dict[str, str]:
    """Run every check without pytest.

    Args:
        contract: How the store is opened.
        directory: An empty directory; each check gets one below it.

    Returns:
        The problems, by the name of the check; empty for a store that fulfils the contract.
    """
    return problems_of(contract, directory)


def _rows_of_a_run(number: int) -> list[Row]:
    """Return rows of several kinds, one of them large and different in each run; the first run has none."""
    outputs: tuple[Any, ...] = ({"number": number}, ODD, {"text": f"{number}{LARGE['text']}"}, LARGE, None)
    keys = ("steps.0", "steps.1", "steps.1/tool.0.a", "steps.10/tool.0.b", "steps.1/tool.1.c")
    rows = zip(keys, ("step", "step", "tool", "tool", "tool"), outputs, strict=True)
    return [replace(DONE, key=key, kind=kind, output=output) for key, kind, output in rows] if number else []  # type: ignore[arg-type]


def _numbered(number: int, output: str) -> Row:
    return replace(DONE, key=f"steps.{number}", output=output)


def _finish(use: Callable[[Row], Coroutine[Any, Any, None]], row: Row) -> None:
    asyncio.run(use(row))
