"""What the tests of the store share."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from store_values import FACTS, ROW, done, opened

from strands_cli.api import ExitCode, Row, RunRecordError, StorePlace
from strands_cli_postgres import store
from tests.postgres.postgres_server import PASSWORD

__all__ = [
    "FACTS",
    "ROW",
    "WAIT_S",
    "cut",
    "done",
    "initialised",
    "opened",
    "refused",
    "transactions_of",
    "until",
    "write",
]

WAIT_S = 60.0


def initialised(address: str) -> str:
    store.init(StorePlace(address=address), address)
    return address


def write(journal: Any, *rows: Row) -> list[Any]:
    """Write rows at once, and return what each write returned or raised."""

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(journal.write(row) for row in rows), return_exceptions=True)

    return asyncio.run(all_of_them())


def refused(use: Callable[[], Any]) -> RunRecordError:
    """Return the error of something that is refused, which has a fix and shows no password anywhere."""
    with pytest.raises(RunRecordError) as raised:
        use()
    error = raised.value
    shown = "".join(traceback.format_exception(error)) + f"{error!r}{error.fix}"
    assert not any(part in shown for part in (PASSWORD, "p%40ss", "ss%2Fword", "p@ss", "ss/word")), shown
    assert error.exit_code == ExitCode.RUN_RECORD
    assert error.fix
    return error


def cut(address: str) -> None:
    """End the connections that hold runs, as an administrator would."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = "
            "(SELECT oid FROM pg_database WHERE datname = current_database())"
        )


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something that another process does, and return it."""
    end = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found


def transactions_of(address: str) -> int:
    """Return how many transactions the database has seen, when those that used it have gone and counted theirs."""
    name = conninfo_to_dict(address)["dbname"]
    # From another database, or the looks would count too.
    with psycopg.connect(address, dbname="postgres", autocommit=True) as connection:
        users = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        until(lambda: connection.execute(users, (name,)).fetchone() == (0,))
        found = connection.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = %s", (name,))
        return int(found.fetchall()[0][0])
