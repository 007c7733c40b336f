"""The journals and the store in Postgres keep the contracts that every journal and every store has to keep."""

from __future__ import annotations

import contextlib
from pathlib import Path

import psycopg
import pytest

from strands_cli.api import Journal, RunStore, StoredJournal, StorePlace
from strands_cli_dev import JournalContract, StoreContract
from strands_cli_postgres import store

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("address_file")]
RUN = "run-1"


def opened(directory: Path) -> RunStore:
    address = (directory / "address").read_text()
    return store.open(StorePlace(address=address), address)


class TestPostgresJournal(JournalContract):
    def make_journal(self, directory: Path) -> Journal:
        with contextlib.closing(opened(directory)) as found:
            return found.create(RUN)

    def open_journal(self, directory: Path) -> StoredJournal:
        with contextlib.closing(opened(directory)) as found:
            return found.open(RUN)

    def read_journal(self, directory: Path) -> StoredJournal:
        with contextlib.closing(opened(directory)) as found:
            return found.open(RUN, hold=False)


class TestPostgresStore(StoreContract):
    def open_store(self, directory: Path) -> RunStore:
        return opened(directory)

    def cut_off(self, directory: Path, run_id: str) -> None:
        """End the connection that has the locks, as an administrator would."""
        with psycopg.connect((directory / "address").read_text(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())"
            )
