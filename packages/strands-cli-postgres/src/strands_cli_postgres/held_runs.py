"""Takes runs under their locks, on the connection that holds the runs of the process."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from strands_cli.api import RunRecordError
from strands_cli_postgres.commit import LISTED, LISTED_NUMBERS
from strands_cli_postgres.connections import lock_key
from strands_cli_postgres.database import Database
from strands_cli_postgres.session import Session

if TYPE_CHECKING:
    import psycopg

# The server needs a moment to see that a process is gone; one that works on the run keeps its lock.
TAKE_S, LOOK_S = 2.0, 0.02
_MOST_ID = 255
_COLUMNS = (*LISTED, *LISTED_NUMBERS)
# The lock is taken once, since the condition has no row to be asked for.
_CREATE = """
INSERT INTO {schema}.runs (id, lock, holder) SELECT %s, %s, %s WHERE pg_try_advisory_lock(%s)
ON CONFLICT (id) DO NOTHING RETURNING number, fence
"""
_TAKE = """
UPDATE {schema}.runs r SET fence = fence + 1, changes = changes + 1, holder = %s WHERE id = %s
RETURNING number, fence, (SELECT coalesce(max(position), 0) FROM {schema}.effects WHERE run = r.number), {columns}
"""
# Locks of 64 bits are listed in two halves.
HELD_LOCKS = """
SELECT (classid::bigint << 32) | objid::bigint AS lock, pid FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_HOLDER = """
SELECT r.holder, l.pid FROM {schema}.runs r LEFT JOIN ({locks}) l ON l.lock = r.lock WHERE r.id = %s
"""


@dataclass(slots=True)
class TakenRun:
    """A run that this process holds, as it was when it was taken.

    Attributes:
        session: The one with its lock.
        position: That of its last row.
        listed: Its columns in a list of runs.
    """

    session: Session
    number: int
    fence: int
    position: int = 0
    listed: dict[str, Any] = field(default_factory=dict)


def create_run(database: Database, run_id: str) -> TakenRun:
    """Make the row of a new run, and hold it.

    Raises:
        RunRecordError: There is a run with this id, or the store refuses.
    """
    _require_id(database, run_id)
    key, statement = lock_key(database.schema, run_id), _CREATE.format(schema=database.schema)
    session = database.session()

    def create(connection: psycopg.Connection[Any]) -> TakenRun | None:
        columns = None
        try:
            columns = connection.execute(statement, (run_id, key, _holder(connection), key)).fetchone()
        finally:
            # Locks of a session stay when a statement fails.
            if columns is None and not connection.broken:
                _unlock(connection, key)
        return None if columns is None else TakenRun(session, *columns)

    taken_run = session.claim(run_id, create)
    if taken_run is None:
        raise RunRecordError(
            f"there is a run {run_id} in {database.place} already", fix=f"see what it is: strands runs show {run_id}"
        )
    return taken_run


def take_run(database: Database, run_id: str) -> TakenRun:
    """Take over a run that no process holds.

    Raises:
        RunRecordError: There is no such run, another process holds it, or the store refuses.
    """
    key = lock_key(database.schema, run_id)
    statement = _TAKE.format(schema=database.schema, columns=", ".join(_COLUMNS))
    session, end = database.session(), time.monotonic() + TAKE_S

    def take(connection: psycopg.Connection[Any]) -> TakenRun | None:
        if not _lock(connection, key):
            return None
        try:
            columns = connection.execute(statement, (_holder(connection), run_id)).fetchone()
            if columns is None:
                raise unknown_run(database, run_id)
        except Exception:
            if not connection.broken:
                _unlock(connection, key)
            raise
        number, fence, position, *listed = columns
        return TakenRun(session, number, fence, position, dict(zip(_COLUMNS, listed, strict=True)))

    while (taken_run := session.claim(run_id, take)) is None:
        if time.monotonic() > end:
            raise held_by_other(database, run_id)
        time.sleep(LOOK_S)
    return taken_run


def is_held(database: Database, run_id: str) -> bool:
    """Return whether a process holds a run now."""
    statement = f"SELECT EXISTS (SELECT FROM ({HELD_LOCKS}) AS held WHERE lock = %s)"  # noqa: S608 - constant text
    return bool(database.query(statement, (lock_key(database.schema, run_id),))[0][0])


def held_by_other(database: Database, run_id: str) -> RunRecordError:
    """Return the error for a run held by another process, with the known facts of that."""
    holders = database.query(_HOLDER.replace("{locks}", HELD_LOCKS), (run_id,))
    if not holders:
        return unknown_run(database, run_id)
    holder, backend = holders[0]
    facts = json.loads(holder or "{}")
    where = f" (process {facts.get('pid')} on {facts.get('host')})" if facts else ""
    remark = f", or as its role in psql: SELECT pg_terminate_backend({backend})" if backend else ""
    return RunRecordError(
        f"another process{where} is working on the run {run_id}",
        fix=f"wait until it ends, or stop it: strands runs cancel {run_id}{remark}",
    )


def unknown_run(database: Database, run_id: str) -> RunRecordError:
    """Return the error for an absent run."""
    return RunRecordError(
        f"the run {run_id} does not exist in {database.place} (any more)", fix="see what there is: strands runs list"
    )


def _require_id(database: Database, run_id: str) -> None:
    try:
        is_fine = 0 < len(run_id.encode()) <= _MOST_ID and run_id.isprintable()
    except UnicodeEncodeError:
        is_fine = False
    if not is_fine:
        raise RunRecordError(
            f"{run_id[:_MOST_ID]!r} cannot be the id of a run in {database.place}",
            fix=f"choose one of up to {_MOST_ID} printable characters",
        )


def _holder(connection: psycopg.Connection[Any]) -> str:
    return json.dumps({"host": platform.node(), "pid": os.getpid(), "backend": connection.info.backend_pid})


def _lock(connection: psycopg.Connection[Any], key: int) -> bool:
    return bool((connection.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone() or (False,))[0])


def _unlock(connection: psycopg.Connection[Any], key: int) -> None:
    """Give a lock back where this session has it; the server only warns where it has not."""
    connection.execute("SELECT pg_advisory_unlock(%s)", (key,))
