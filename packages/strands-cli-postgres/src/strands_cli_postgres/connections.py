"""Connections to a store: made in one place, with errors that a person can act on; and the keys of its locks."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from strands_cli.api import StorePlace
from strands_cli_postgres.address import Target
from strands_cli_postgres.failures import cut, is_lost, refused, unusable

if TYPE_CHECKING:
    import psycopg

# How many connections of one process read at the same time, and how many of them stay open for the next.
READERS, IDLE_READERS = 4, 1


def connect(place: StorePlace, target: Target) -> psycopg.Connection[Any]:
    """Return a connection that commits each statement.

    Raises:
        RunRecordError: The server refuses it, or cannot be reached.
    """
    import psycopg

    from strands_cli_postgres.replies import LimitedConnection

    try:
        # Without prepared statements: a pooler may give the next statement to another process of the server.
        connection = LimitedConnection.connect(target.conninfo, autocommit=True, prepare_threshold=None)
        connection.reply_s = target.reply_s
        return connection
    except psycopg.Error as error:
        # The client's own error has the parameters of the connection in its frames.
        raise refused(error.with_traceback(None), place, target.conninfo) from None


@contextmanager
def connected(place: StorePlace, target: Target) -> Iterator[psycopg.Connection[Any]]:
    """Connect for a short while."""
    connection = connect(place, target)
    try:
        yield connection
    finally:
        connection.close()


def backend_of(connection: psycopg.Connection[Any]) -> int:
    """Return the process of the server that serves a connection now: with a pooler between not always the same."""
    (serving,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    return int(serving)


def lock_key(schema: str, run_id: str) -> int:
    """Return the key of the advisory lock of a run, or with an empty id that of the schema.

    64 bits of SHA-256: that two of a billion runs have one key has a probability of 3 %, and then one of the two
    cannot be worked on while the other one is. The name of the schema is in it, since locks are those of a database.
    """
    digest = hashlib.sha256(f"strands-cli\0{schema}\0{run_id}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class Readers:
    """The connections of a process on which it reads; each query borrows one."""

    def __init__(self, place: StorePlace, target: Target) -> None:
        self._place, self._target = place, target
        self._free = threading.BoundedSemaphore(READERS)
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._is_closed = False
        self._process = os.getpid()

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement; it is repeated where a connection that was idle turns out to be lost.

        Raises:
            RunRecordError: The store cannot be reached or refuses.
        """
        import psycopg

        with self._free:
            connection = self._taken()
            while True:
                was_idle = connection is not None
                connection = connection or connect(self._place, self._target)
                try:
                    cursor = connection.execute(statement, parameters or None)
                    rows = cursor.fetchall() if cursor.description else []
                except psycopg.Error as error:
                    is_cut = is_lost(error, connection)
                    connection.close() if is_cut else self._give_back(connection)
                    if not (is_cut and was_idle):
                        raise (cut if is_cut else unusable)(error, self._place, self._target.schema) from error
                    connection = self._taken()
                except BaseException:
                    connection.close()
                    raise
                else:
                    self._give_back(connection)
                    return rows

    def _taken(self) -> psycopg.Connection[Any] | None:
        with self._lock:
            if self._process != os.getpid():
                # Copies of those of another process, which goes on to use them.
                self._idle, self._process = [], os.getpid()
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
        with self._lock:
            if len(self._idle) < IDLE_READERS and not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections, those in use when they are given back."""
        with self._lock:
            idle, self._idle, self._is_closed = self._idle, [], True
        for connection in idle:
            connection.close()
