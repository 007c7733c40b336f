"""The lock of a worker: a session of the database holds it while the process lives, and shows its heartbeat."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Sequence

import psycopg

from strands_cli.api import RunRecordError
from strands_cli_workers import queue_tables as sql
from strands_cli_workers.queue_database import QueueDatabase

# How often the connection is tried; a worker that has lost it must stop before others have its runs.
WATCH_S = 1.0
# How often the heartbeat of the event loop is written, if it has come.
BEAT_S = 5.0


class WorkerLock:
    """A worker's id, its row among the workers, and the session that locks the id.

    Attributes:
        id: Unique, so that two workers of one name are two.
    """

    def __init__(
        self, database: QueueDatabase, name: str, queues: Sequence[str], concurrency: int, version: str
    ) -> None:
        self.id = f"{name}.{secrets.token_hex(4)}"
        self._database = database
        self._ended = threading.Event()
        self._beat_at = time.monotonic()
        self.is_lost = False
        self._connection = database.connect(f"strands-worker {self.id}")
        row = (self.id, name, platform.node(), os.getpid(), list(queues), concurrency, version)
        try:
            if database.rows(self._connection, sql.TRY_LOCK, (self.id,)) != [(True,)]:
                raise RunRecordError(f"the id {self.id} is taken, which is one in four billion", fix="start it again")
            database.rows(self._connection, sql.ENTER_WORKER, row)
        except BaseException:
            self._connection.close()
            raise

    def beat(self) -> None:
        """Note that the event loop works."""
        self._beat_at = time.monotonic()

    def watch(self, on_loss: Callable[[str], None], frozen_after_s: float | None = None) -> None:
        """Call `on_loss` once, from another thread, when the session has ended before `release`.

        Args:
            frozen_after_s: How old the heartbeat may be until others take the runs of this worker over; None: any age.
        """
        limit_s = math.inf if frozen_after_s is None else frozen_after_s
        threading.Thread(target=self._watch, args=(on_loss, limit_s), name="strands-worker-lock", daemon=True).start()

    def _watch(self, on_loss: Callable[[str], None], limit_s: float) -> None:
        """Try the connection again and again, and write the heartbeat: an old one where the event loop hangs."""
        written, every_s = -math.inf, min(BEAT_S, limit_s / 4)
        while not self._ended.wait(min(WATCH_S, every_s)):
            try:
                if (now := time.monotonic()) - written < every_s:
                    self._connection.execute("SELECT 1")
                else:
                    written = now
                    self._database.rows(self._connection, sql.BEAT, (now - self._beat_at, limit_s, self.id))
            except (psycopg.Error, RunRecordError) as error:
                if not self._ended.is_set():
                    self.is_lost = True
                    on_loss(error.message if isinstance(error, RunRecordError) else str(error).strip().splitlines()[0])
                return

    def mark_draining(self) -> None:
        """Show that the worker takes nothing more."""
        with contextlib.suppress(RunRecordError):
            self._database.rows(self._connection, sql.SHOW_DRAINING, (self.id,))

    def release(self) -> None:
        """Give the lock up, and leave the list of workers."""
        self._ended.set()
        with contextlib.suppress(RunRecordError):
            self._database.rows(self._connection, sql.FORGET_WORKER, (self.id,))
        self._connection.close()
