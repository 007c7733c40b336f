"""Connections to the database of the queues: how they are opened, and what their errors mean."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg

from strands_cli.errors import RunRecordError

if TYPE_CHECKING:
    from strands_cli.store_place import StorePlace

# The schema of DBOS's tables and of the table of workers, beside the one of the journals.
SCHEMA = "strands_dbos"
# A host that is gone is noticed by both ends: the server releases the locks of the connection, the client stops.
KEEPALIVES: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "connect_timeout": 10,
}


def connected(address: str, name: str) -> psycopg.Connection[Any]:
    """Open a connection that commits each statement; the server shows the `name`."""
    connection = psycopg.connect(address, autocommit=True, application_name=name, client_encoding="utf8", **KEEPALIVES)
    # The server notices by these that a client is gone. Over a Unix socket there is nothing to set.
    connection.execute("SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3")
    return connection


@contextlib.contextmanager
def explained(place: StorePlace) -> Iterator[None]:
    """Raise what the database refuses as an error that a person can act on, without the address's password.

    Raises:
        RunRecordError: The block failed in the database.
    """
    try:
        yield
    except Exception as error:
        raised = getattr(error, "orig", error)  # what SQLAlchemy wraps
        if isinstance(raised, (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)):
            raise no_queues(place) from error
        if not isinstance(raised, psycopg.Error):
            raise
        reason = str(raised).strip().splitlines()
        raise RunRecordError(
            f"the queues of {place} cannot be reached: {reason[0] if reason else type(raised).__name__}",
            fix=f"check that the database runs and the address is right: strands store check --store {place}",
        ) from error


def no_queues(place: StorePlace) -> RunRecordError:
    """Return the error of a store without queues."""
    return RunRecordError(f"{place} has no queues yet", fix=f"make them: strands store init --store {place}")
