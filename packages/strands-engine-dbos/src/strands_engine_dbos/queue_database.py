"""The database of the queues: that of the store, in a schema beside the one of the journals."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from strands_cli.errors import RunRecordError
from strands_store_postgres.address import target_of
from strands_store_postgres.failures import refused, unusable

if TYPE_CHECKING:
    from strands_cli.stores import StorePlace

# What the server needs to notice that a client is gone. Over a Unix socket there is nothing to set.
_OF_SERVER = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"


class QueueDatabase:
    """Opens connections to the queues of one store, and explains their errors.

    Attributes:
        place: The store, for people.
        schema: The schema of DBOS's tables and of the table of workers.
    """

    def __init__(self, place: StorePlace, address: str) -> None:
        self.place = place
        target = target_of(place, address)
        self.conninfo: str = target.conninfo
        self.schema = f"{target.schema}_dbos"

    def connect(self, name: str) -> psycopg.Connection[Any]:
        """Open a connection that commits each statement; the server shows the name.

        Raises:
            RunRecordError: The server refuses it, or cannot be reached.
        """
        try:
            conninfo = make_conninfo(self.conninfo, application_name=name[:63])
            connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            # The client's own error has the parameters of the connection in its frames.
            raise refused(error.with_traceback(None), self.place, self.conninfo) from None
        with self.explained():
            connection.execute(_OF_SERVER)
        return connection

    def rows(
        self, connection: psycopg.Connection[Any], statement: str, values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, in which `{schema}` is the name of the schema.

        Raises:
            RunRecordError: The database refuses it, or cannot be reached.
        """
        with self.explained():
            cursor = connection.execute(statement.replace("{schema}", self.schema), values or None)
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Raise what the database refuses as an error that a person can act on, without a password.

        Raises:
            RunRecordError: The block failed in the database.
        """
        try:
            yield
        except Exception as error:
            raised = getattr(error, "orig", error)  # what SQLAlchemy wraps
            if isinstance(raised, (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)):
                raise self.without_queues() from error
            if not isinstance(raised, psycopg.Error):
                raise
            if isinstance(raised, psycopg.OperationalError) and raised.sqlstate is None:
                raise refused(raised, self.place, self.conninfo) from None
            raise unusable(raised, self.place, self.schema) from error

    def without_queues(self) -> RunRecordError:
        """Return the error of a store that has no queues."""
        return RunRecordError(
            f"the store {self.place} has no queues yet",
            fix=shlex.join(["strands", "store", "init", "--store", str(self.place)]),
        )
