"""The database of the queues: that of the store, in a schema beside the one of the journals."""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from strands_cli.api import NotEquipped, RunRecordError, RunStore
from strands_cli_postgres.failures import cut, refused, unusable
from strands_cli_postgres.postgres_store import PostgresStore
from strands_cli_postgres.replies import LimitedConnection
from strands_cli_workers.queue_values import NAME_A_STORE

# The settings with which the server notices a lost client. Over a Unix socket there is nothing to set.
_OF_SERVER = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
# The server's errors on a connection that it ends: it stops, or somebody has ended the connection.
LOST = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown, psycopg.errors.CannotConnectNow)


class QueueDatabase:
    """Opens connections to the queues of one store, and explains their errors.

    Args:
        store: The store of the runs.

    Attributes:
        place: The store, for people.
        schema: The schema of DBOS's tables and of the table of workers.
        runs: The schema of the journals.

    Raises:
        NotEquipped: The store is not a Postgres database.
    """

    def __init__(self, store: RunStore) -> None:
        if not isinstance(store, PostgresStore):
            raise NotEquipped(f"the workers have no queues for the store {store.place}", fix=NAME_A_STORE)
        self.place, target = store.place, store.target
        self.conninfo: str = target.conninfo
        self.runs = target.schema
        self.schema = f"{target.schema}_dbos"
        self._reply_s = target.reply_s

    def raw_connection(self, name: str, *, autocommit: bool = True) -> LimitedConnection:
        """Open a connection; the server shows the name.

        Raises:
            psycopg.Error: The server refuses it, or cannot be reached.
        """
        conninfo = make_conninfo(self.conninfo, application_name=name[:63])
        connection = LimitedConnection.connect(conninfo, autocommit=autocommit, prepare_threshold=None)
        connection.reply_s = self._reply_s
        return connection

    def connect(self, name: str) -> LimitedConnection:
        """Open a connection that commits each statement; the server shows the name.

        Raises:
            RunRecordError: The server refuses it, or cannot be reached.
        """
        try:
            connection = self.raw_connection(name)
        except psycopg.Error as error:
            # The client's own error has the parameters of the connection in its frames.
            raise refused(error.with_traceback(None), self.place, self.conninfo) from None
        with self.explained():
            connection.execute(_OF_SERVER)
        return connection

    def named(self, statement: str) -> str:
        """Return a statement with the names of the schemas."""
        return statement.replace("{schema}", self.schema).replace("{runs}", self.runs)

    def rows(
        self, connection: psycopg.Connection[Any], statement: str, values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, in which `{schema}` is the name of the schema, and `{runs}` the journals'.

        Raises:
            RunRecordError: The database refuses it, or cannot be reached.
        """
        with self.explained():
            cursor = connection.execute(self.named(statement), values or None)
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Raise a refusal of the database as an error that a person can act on, without a password.

        Raises:
            RunRecordError: The block failed in the database.
        """
        try:
            yield
        except Exception as error:
            raised = getattr(error, "orig", error)  # the error that SQLAlchemy wraps
            if isinstance(raised, (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)):
                raise self.without_queues() from error
            if not isinstance(raised, psycopg.Error):
                raise
            if isinstance(raised, psycopg.errors.UndefinedColumn):
                raise self.without_queues("has queues of an earlier version") from error
            if isinstance(raised, psycopg.OperationalError) and raised.sqlstate is None:
                raise refused(raised, self.place, self.conninfo) from None
            if isinstance(raised, LOST):
                raise cut(raised, self.place, self.schema) from None
            raise unusable(raised, self.place, self.schema) from error

    def without_queues(self, has: str = "has no queues yet") -> RunRecordError:
        """Return the error of a store without queues."""
        return RunRecordError(
            f"the store {self.place} {has}",
            fix=shlex.join(["strands", "runs", "store", "init", "--store", str(self.place)]),
        )


class KeptConnection:
    """A connection made again after a loss: for work that holds no lock by it.

    Args:
        database: Its database.
        name: Its name on the server.
    """

    def __init__(self, database: QueueDatabase, name: str) -> None:
        self._database, self._name = database, name
        self._lock = threading.Lock()
        self._connection: LimitedConnection | None = database.connect(name)

    def get(self) -> LimitedConnection:
        """Return the connection.

        Raises:
            RunRecordError: It was lost, and there is no other one now.
        """
        with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = None  # also where the next line raises
                self._connection = self._database.connect(self._name)
            return self._connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, as `QueueDatabase.rows` does."""
        return self._database.rows(self.get(), statement, values)

    def close(self) -> None:
        """Close it; it may be lost."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
