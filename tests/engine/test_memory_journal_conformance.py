"""The journals of this package keep the contract that every journal has to keep."""

from __future__ import annotations

from pathlib import Path

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.testing import JournalContract


class TestMemoryJournal(JournalContract):
    durable = False

    def make_journal(self, directory: Path) -> MemoryJournal:
        return MemoryJournal()


class TestSqliteJournal(JournalContract):
    def make_journal(self, directory: Path) -> SqliteJournal:
        return SqliteJournal.create(directory / "run")

    def open_journal(self, directory: Path) -> SqliteJournal:
        return SqliteJournal.open(directory / "run")

    def read_journal(self, directory: Path) -> SqliteJournal:
        return SqliteJournal.open(directory / "run", hold=False)
