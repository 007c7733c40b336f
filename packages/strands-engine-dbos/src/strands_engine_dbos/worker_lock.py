"""The lock of a worker: a session of the database holds it for as long as the process lives."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import psycopg

from strands_cli.errors import RunRecordError
from strands_engine_dbos.connection import SCHEMA, connected, explained

if TYPE_CHECKING:
    from strands_cli.store_place import StorePlace

# The number that is locked for a worker, by its id.
LOCK = "hashtextextended('strands-worker ' || {}, 0)"
# How often the connection is tried; a worker that has lost it must stop before others have its runs.
WATCH_S = 1.0
# Whether the lock of an id is held, without taking it.
IS_HELD = f"""EXISTS (
  SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database AND datname = current_database()
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND ((classid::bigint << 32) | objid::bigint) = {LOCK.format("id")})"""

_INSERT = f"""
INSERT INTO {SCHEMA}.strands_workers (id, name, machine, pid, queues, concurrency, version)
VALUES (%s, %s, %s, %s, %s, %s, %s)
"""


class WorkerLock:
    """A worker's id, its row among the workers, and the session that locks the id.

    Attributes:
        id: Unique, so that two workers of one name are two.
    """

    def __init__(
        self, place: StorePlace, address: str, name: str, queues: Sequence[str], concurrency: int, version: str
    ) -> None:
        self.id = f"{name}.{secrets.token_hex(4)}"
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None
        with explained(place):
            self._connection = connected(address, f"strands worker {self.id}")
            self._take()
            row = (self.id, name, platform.node(), os.getpid(), list(queues), concurrency, version)
            self._connection.execute(_INSERT, row)

    def _take(self) -> None:
        taken = self._connection.execute(f"SELECT pg_try_advisory_lock({LOCK.format('%s')})", (self.id,)).fetchone()
        if taken is None or not taken[0]:
            raise RunRecordError(f"the id {self.id} is taken, which is one in four billion", fix="start it again")

    def watch(self, lost: Callable[[str], None]) -> None:
        """Call `lost` once, from another thread, when the session has ended before `release`."""
        self._watcher = threading.Thread(target=self._watch, args=(lost,), name="strands-worker-lock", daemon=True)
        self._watcher.start()

    def _watch(self, lost: Callable[[str], None]) -> None:
        while not self._ended.wait(WATCH_S):
            try:
                self._connection.execute("SELECT 1")
            except psycopg.Error as error:
                if not self._ended.is_set():
                    lost(str(error).strip().splitlines()[0])
                return

    def mark_draining(self) -> None:
        """Show that the worker takes nothing more."""
        with contextlib.suppress(psycopg.Error):
            self._connection.execute(f"UPDATE {SCHEMA}.strands_workers SET draining = true WHERE id = %s", (self.id,))

    def release(self) -> None:
        """Give the lock up; the row stays while runs have its id, so that others see whose they were."""
        self._ended.set()
        with contextlib.suppress(psycopg.Error):
            self._connection.execute(f"DELETE FROM {SCHEMA}.strands_workers WHERE id = %s", (self.id,))
        self._connection.close()
