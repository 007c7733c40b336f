"""How DBOS is configured here: one schema of the journals' database, JSON, its log through ours, no pickle."""

from __future__ import annotations

import json
import logging
import threading
from datetime import datetime
from typing import Any

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig, Serializer
from psycopg.conninfo import conninfo_to_dict

from strands_cli_postgres.replies import LimitedConnection
from strands_cli_workers.queue_database import QueueDatabase
from strands_cli_workers.queue_tables import APPLICATION, TABLES

# Of the pool of one worker: its queue threads, its timers, and the ends of its dispatches.
POOL = 8
# A new, changed or lost schedule is noticed after this time.
SCHEDULES_S = 5.0


class JsonSerializer(Serializer):
    """Stores JSON values, times as ISO 8601, and of an exception its words; never pickle, which runs code when read."""

    def serialize(self, data: Any) -> str:
        """Return the text of a value."""
        return json.dumps(data, default=_as_json)

    def deserialize(self, serialized_data: str) -> Any:
        """Return the value of a text; a time stays text."""
        return json.loads(serialized_data)

    def name(self) -> str:
        """Return the name that DBOS stores with each text."""
        return "strands_json"


def _as_json(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else f"{type(value).__name__}: {value}"


def pool_of(database: QueueDatabase, size: int, is_closed: threading.Event | None = None) -> sqlalchemy.Engine:
    """Return a pool of connections to the database of the queues; it makes none any more when it `is_closed`."""
    closed = is_closed or threading.Event()

    def connect() -> LimitedConnection:
        if closed.is_set():
            # Nothing that DBOS tries again: a thread of it that waits to do so ends when it wakes up.
            raise RuntimeError("this worker has closed its connections to the queues")
        return database.raw_connection("strands-dbos", autocommit=False)

    return sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=connect, pool_size=size, max_overflow=0, pool_timeout=30, pool_pre_ping=True
    )


def quiet() -> logging.Logger:
    """Take DBOS's own handlers from its logger, which writes lines of its own form to stderr, and return the logger."""
    logger = logging.getLogger("dbos")
    logger.handlers.clear()
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    return logger


def client_of(pool: sqlalchemy.Engine, schema: str) -> DBOSClient:
    """Return a client of the queues; it uses the pool and does not dispose of it."""
    quiet().addHandler(logging.NullHandler())
    return DBOSClient(
        system_database_engine=pool,
        dbos_system_schema=schema,
        serializer=JsonSerializer(),
        application_name=APPLICATION,
        retry_connection_errors=False,
    )


def configuration(pool: sqlalchemy.Engine, schema: str, worker: str, version: str) -> DBOSConfig:
    """Return the configuration of a worker."""
    return {
        "name": APPLICATION,
        "system_database_engine": pool,
        "dbos_system_schema": schema,
        "serializer": JsonSerializer(),
        "executor_id": worker,
        "application_version": version,
        "run_migrations": False,
        "scheduler_polling_interval_sec": SCHEDULES_S,
        "log_level": "WARNING",
    }


def make_tables(database: QueueDatabase) -> None:
    """Make the tables of DBOS and ours, or bring them to this version.

    Raises:
        RunRecordError: The database refuses it, or cannot be reached.
    """
    with database.connect("strands-queue") as connection, database.explained():
        _migrate(database)
        database.rows(connection, TABLES)


def _migrate(database: QueueDatabase) -> None:
    """Create DBOS's tables, or bring them to the version of this DBOS."""
    quiet().addHandler(logging.NullHandler())
    parameters = {name: str(value) for name, value in conninfo_to_dict(database.conninfo).items() if value is not None}
    # In the query, where a path and several hosts keep their meaning for libpq.
    url = sqlalchemy.URL.create(
        "postgresql",
        username=parameters.pop("user", None),
        password=parameters.pop("password", None),
        database=parameters.pop("dbname", None),
        query=parameters,
    )
    DBOS.migrate(url.render_as_string(hide_password=False), schema=database.schema)
