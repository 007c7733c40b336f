"""The journals and the store of this package keep the contracts that every journal and every store has to keep."""

from __future__ import annotations

from pathlib import Path

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli_dev import JournalContract, StoreContract


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


class TestFolderStore(StoreContract):
    def open_store(self, directory: Path) -> FolderStore:
        return FolderStore(directory / "runs")
