"""Every promise of a journal is noticed when it is broken: each spoiled journal fails the check of that name."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Row, RowKind
from strands_cli.engine.journal.sqlite_journal import DATABASE, SqliteJournal
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import RunRecordError
from strands_cli_dev import JournalContract, check_journal

pytestmark = pytest.mark.kills

CHECKS = {name for name in dir(JournalContract) if name.startswith("test_")}
NEEDS_DURABLE = {
    "test_a_row_is_durable_when_write_returns",
    "test_a_fact_is_durable_when_put_returns",
    "test_facts_that_are_stored_are_durable",
    "test_closing_commits_what_was_noted",
    "test_a_run_goes_on_where_it_was_left",
    "test_one_run_is_held_by_one",
    "test_the_death_of_the_process_loses_nothing_that_was_written",
}


class InMemory(JournalContract):
    durable = False

    def __init__(self, journal: type[Any] = MemoryJournal) -> None:
        self.journal = journal

    def make_journal(self, directory: Path) -> Any:
        return self.journal()


class OnDisk(JournalContract):
    journal: type[SqliteJournal] = SqliteJournal

    def make_journal(self, directory: Path) -> SqliteJournal:
        return self.journal.create(directory / "run")

    def open_journal(self, directory: Path) -> SqliteJournal:
        return self.journal.open(directory / "run")

    def read_journal(self, directory: Path) -> SqliteJournal:
        return self.journal.open(directory / "run", hold=False)


class LosesRows(MemoryJournal):
    async def write(self, row: Row) -> None:
        if not row.key.endswith("7"):
            await super().write(row)


class ForgetsDetail(MemoryJournal):
    async def write(self, row: Row) -> None:
        await super().write(replace(row, detail={}))


class TakesZeroForUnknown(MemoryJournal):
    async def write(self, row: Row) -> None:
        await super().write(replace(row, cost=row.cost or None))


class CutsLargeOutputs(MemoryJournal):
    async def write(self, row: Row) -> None:
        large = isinstance(row.output, dict) and len(row.output.get("text", "")) > 65536
        await super().write(replace(row, output="too large") if large else row)


class HidesNotes(MemoryJournal):
    def note(self, row: Row) -> None:
        """Wait for the next write, which never looks."""


class HidesBeginnings(MemoryJournal):
    async def begin(self, row: Row) -> None:
        """Say that the effect may begin, and store nothing."""


class KeepsTheFirst(MemoryJournal):
    async def write(self, row: Row) -> None:
        if self.row(row.key) is None:
            await super().write(row)


class OrdersByLastChange(MemoryJournal):
    changed: tuple[str, ...] = ()

    async def write(self, row: Row) -> None:
        await super().write(row)
        self.changed = (*(key for key in self.changed if key != row.key), row.key)

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        order = {key: place for place, key in enumerate(self.changed)}
        return iter(sorted(super().rows(kind, below), key=lambda row: order.get(row.key, -1)))


class OrdersByKey(MemoryJournal):
    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        return iter(sorted(super().rows(kind, below), key=lambda row: row.key))


class IgnoresKinds(MemoryJournal):
    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        return super().rows(None, below)


class TakesBeginningsForAbove(MemoryJournal):
    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        return (row for row in super().rows(kind) if row.key.startswith(below))


class FindsBeginnings(MemoryJournal):
    def row(self, key: str) -> Row | None:
        return next((row for row in self.rows() if row.key.startswith(key)), None)


class RaisesForAbsence(MemoryJournal):
    def get(self, name: str) -> Any:
        found = super().get(name)
        if found is None:
            raise KeyError(name)
        return found


class ReplacesAllFacts(MemoryJournal):
    def put(self, **facts: Any) -> None:
        self.names = getattr(self, "names", set()) | facts.keys()
        super().put(**(dict.fromkeys(self.names) | facts))


class SharesObjects(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self.newest: dict[str, Row] = {}

    def row(self, key: str) -> Row | None:
        return self.newest.setdefault(key, found) if (found := super().row(key)) is not None else None


class StoresAnything(MemoryJournal):
    def __init__(self) -> None:
        super().__init__()
        self.beside: dict[str, Row] = {}

    async def write(self, row: Row) -> None:
        try:
            await super().write(row)
        except RunRecordError:
            self.beside[row.key] = row

    def row(self, key: str) -> Row | None:
        return self.beside.get(key) or super().row(key)


class FailsTogether(MemoryJournal):
    failed: Exception | None = None

    async def write(self, row: Row) -> None:
        if self.failed is not None:
            raise self.failed
        try:
            await super().write(row)
        except Exception as error:
            self.failed = error
            raise


SPOILED = {
    LosesRows: "test_concurrent_writes_are_all_kept",
    ForgetsDetail: "test_a_written_row_comes_back_whole",
    TakesZeroForUnknown: "test_a_written_row_comes_back_whole",
    CutsLargeOutputs: "test_a_large_output_comes_back_whole",
    HidesNotes: "test_a_noted_row_is_seen_at_once",
    HidesBeginnings: "test_a_begun_row_is_seen_at_once",
    KeepsTheFirst: "test_the_newest_row_of_a_key_counts",
    OrdersByLastChange: "test_rows_come_in_the_order_of_their_first_start",
    OrdersByKey: "test_rows_come_in_the_order_of_their_first_start",
    IgnoresKinds: "test_rows_of_one_kind_are_those_of_that_kind",
    TakesBeginningsForAbove: "test_rows_below_a_key_are_those_in_it",
    FindsBeginnings: "test_what_was_never_written_is_none",
    RaisesForAbsence: "test_what_was_never_written_is_none",
    ReplacesAllFacts: "test_facts_come_back_and_are_replaced_one_by_one",
    SharesObjects: "test_a_stored_value_is_a_copy",
    StoresAnything: "test_what_is_not_json_is_refused_alone",
    FailsTogether: "test_what_is_not_json_is_refused_alone",
}


class HoldsNotes(SqliteJournal):
    """Shows what was noted, and commits it only on request."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.noted: dict[str, Row] = {}

    def note(self, row: Row) -> None:
        self.noted[row.key] = row

    def row(self, key: str) -> Row | None:
        return self.noted.get(key) or super().row(key)

    def commit(self) -> None:
        noted, self.noted = self.noted, {}
        take = super().note

        async def take_all() -> None:
            for row in noted.values():
                take(row)

        try:
            asyncio.get_running_loop()
        except RuntimeError:  # the contract reads and closes outside a loop too
            asyncio.run(take_all())
        else:
            for row in noted.values():
                take(row)


class ReturnsBeforeCommit(HoldsNotes):
    """Commits only when it is asked for rows or closed."""

    async def write(self, row: Row) -> None:
        self.note(row)

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        self.commit()
        return super().rows(kind, below)

    def close(self) -> None:
        with contextlib.closing(super()):
            self.commit()


class KeepsFactsForLater(SqliteJournal):
    """Puts facts into the database when it is closed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.later: dict[str, Any] = {}

    def put(self, **facts: Any) -> None:
        self.later |= facts

    def get(self, name: str) -> Any:
        return self.later.get(name, super().get(name))

    def close(self) -> None:
        with contextlib.closing(super()):
            if self.later:
                super().put(**self.later)


class ForgetsStoredFacts(SqliteJournal):
    async def store(self, **facts: Any) -> None:
        """Say that facts are stored, and keep none."""


class DropsNotesAtTheEnd(HoldsNotes):
    async def write(self, row: Row) -> None:
        self.commit()
        await super().write(row)


class StartsAnew(SqliteJournal):
    @classmethod
    def open(cls, directory: Path, *, hold: bool = True) -> SqliteJournal:
        journal = super().open(directory, hold=hold)
        if hold:
            with contextlib.closing(sqlite3.connect(directory / DATABASE, isolation_level=None)) as connection:
                connection.execute("UPDATE effects SET position = 1000 - position")
        return journal


class TakesNoLock(SqliteJournal):
    @classmethod
    def open(cls, directory: Path, *, hold: bool = True) -> SqliteJournal:
        return super().open(directory, hold=False)


class ReturnsBeforeCommitOnDisk(OnDisk):
    journal = ReturnsBeforeCommit


class ForgetsStoredFactsOnDisk(OnDisk):
    journal = ForgetsStoredFacts


class KeepsFactsForLaterOnDisk(OnDisk):
    journal = KeepsFactsForLater


class DropsNotesAtTheEndOnDisk(OnDisk):
    journal = DropsNotesAtTheEnd


class StartsAnewOnDisk(OnDisk):
    journal = StartsAnew


class TakesNoLockOnDisk(OnDisk):
    journal = TakesNoLock


SPOILED_ON_DISK = {
    ReturnsBeforeCommitOnDisk: {
        "test_a_row_is_durable_when_write_returns",
        "test_the_death_of_the_process_loses_nothing_that_was_written",
    },
    ForgetsStoredFactsOnDisk: {"test_facts_that_are_stored_are_durable"},
    KeepsFactsForLaterOnDisk: {"test_a_fact_is_durable_when_put_returns"},
    DropsNotesAtTheEndOnDisk: {"test_closing_commits_what_was_noted"},
    StartsAnewOnDisk: {"test_a_run_goes_on_where_it_was_left"},
    TakesNoLockOnDisk: {"test_one_run_is_held_by_one"},
}


def test_a_sound_journal_passes_every_check(tmp_path: Path) -> None:
    assert check_journal(InMemory(), tmp_path / "memory") == {}
    assert check_journal(OnDisk(), tmp_path / "disk") == {}


@pytest.mark.parametrize("journal", SPOILED, ids=lambda journal: journal.__name__)
def test_a_spoiled_journal_fails_the_check_of_what_it_breaks(journal: type[MemoryJournal], tmp_path: Path) -> None:
    assert SPOILED[journal] in check_journal(InMemory(journal), tmp_path)


@pytest.mark.parametrize("contract", SPOILED_ON_DISK, ids=lambda contract: contract.__name__)
def test_a_journal_that_is_not_durable_fails_the_check_of_what_it_breaks(
    contract: type[OnDisk], tmp_path: Path
) -> None:
    assert check_journal(contract(), tmp_path).keys() >= SPOILED_ON_DISK[contract]


def test_every_check_is_failed_by_some_spoiled_journal() -> None:
    assert {*SPOILED.values()} | set().union(*SPOILED_ON_DISK.values()) == CHECKS


def test_a_journal_that_does_not_outlive_its_process_is_not_asked_to(tmp_path: Path) -> None:
    class Unfinished(InMemory):
        durable = True

    assert check_journal(Unfinished(), tmp_path).keys() == NEEDS_DURABLE


def test_the_checks_need_neither_pytest_nor_the_sdk() -> None:
    program = (
        "import sys; from strands_cli_dev import JournalContract, check_journal; "
        "print(sorted({'pytest', 'strands', 'pydantic'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in ("[]", "['pydantic']")
