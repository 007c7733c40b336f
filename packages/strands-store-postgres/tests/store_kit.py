"""What the tests of the store share."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from strands_cli.errors import ExitCode, RunRecordError
from strands_cli.store_place import StorePlace
from strands_cli.stores import Row
from strands_store_postgres import store
from strands_store_postgres.postgres_store import PostgresStore
from tests.postgres.postgres_server import PASSWORD

WAIT_S = 60.0
ROW = Row("steps.0", "model", "started", "digest", started_at=12.5)
FACTS: dict[str, Any] = {"workflow": "w", "pattern": "chain", "file": "f.yaml", "status": "running", "started_at": 5.0}


@contextlib.contextmanager
def opened(address: str) -> Iterator[PostgresStore]:
    with contextlib.closing(store.open(StorePlace(address=address), address)) as found:
        yield found


def initialised(address: str) -> str:
    store.init(StorePlace(address=address), address)
    return address


def done(number: int, output: Any = None) -> Row:
    return replace(ROW, key=f"steps.{number}", status="done", output=output, ended_at=13.5)


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
