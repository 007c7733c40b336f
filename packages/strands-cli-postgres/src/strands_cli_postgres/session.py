"""The connection on which a process holds its runs: their locks are its locks, and all that they write goes over it.

A thread of its own waits for writes, for requests to stop a run, and for the end of the connection. When this ends, the
locks are gone, and another process may continue the runs: none of them is written any more.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from strands_cli.api import RunRecordError, StorePlace, Unreachable
from strands_cli_postgres.address import COUNT, IDLE_S, INTERVAL_S, USER_TIMEOUT_MS, Target
from strands_cli_postgres.commit import commit_statement
from strands_cli_postgres.connections import backend_of, connect
from strands_cli_postgres.failures import is_lost, unusable, words_of
from strands_cli_postgres.group_commit import Entry, HeldRun, OtherBackend, answer, by_run, store_entries

if TYPE_CHECKING:
    import psycopg

Result = TypeVar("Result")
# The most entries and characters of one statement; the rest goes into the next one.
MOST_ENTRIES, MOST_CHARACTERS = 2000, 4_000_000
# When the server drops a vanished client; and no limits set for others by its administrator.
_SETTINGS = {
    "tcp_keepalives_idle": str(IDLE_S),
    "tcp_keepalives_interval": str(INTERVAL_S),
    "tcp_keepalives_count": str(COUNT),
    "tcp_user_timeout": str(USER_TIMEOUT_MS),
    "idle_session_timeout": "0",
    "statement_timeout": "0",
    "client_connection_check_interval": "5000",  # a statement that waits ends when its client has gone
}
_SET = """
SELECT set_config(s.name, v.value, false)
FROM pg_settings s JOIN unnest(%s::text[], %s::text[]) AS v(name, value) ON v.name = s.name
"""


@dataclass(slots=True)
class Call:
    """Something that needs the connection for itself."""

    work: Callable[[psycopg.Connection[Any]], Any]
    done: Future[Any]


class Session:
    """See the module.

    Attributes:
        error: Why nothing can be written any more; None while the connection is there.
    """

    def __init__(self, place: StorePlace, target: Target) -> None:
        self._place, self._target = place, target
        self._statement = commit_statement(target.schema)
        self.error: RunRecordError | None = None
        self._lock = threading.Lock()
        self._queue: deque[Entry | Call] = deque()
        self._held: dict[int, HeldRun] = {}
        self._ids: set[str] = set()
        self._is_closing = self._is_woken = False
        self._process = os.getpid()
        self._connection = connect(place, target)
        try:
            self._backend = self._prepare()
        except BaseException:
            self._connection.close()
            raise
        self._woken, self._waker = socket.socketpair()
        self._thread = threading.Thread(target=self._work, name="strands-cli-postgres", daemon=True)
        self._thread.start()

    def _prepare(self) -> int:
        """Return the process of the server that serves the connection, and from now on has its locks."""
        import psycopg

        try:
            serving = backend_of(self._connection)
            if serving != self._connection.info.backend_pid and not self._target.has_pooler:
                raise RunRecordError(
                    f"no run can be worked on in the store {self._place}: a pooler is between, which may give the "
                    "connection with the locks of the runs to others",
                    fix="name the server itself, or have the pooler keep a connection for the whole session "
                    "(pgbouncer: pool_mode = session) and add pooler=session to the address",
                )
            self._connection.execute(_SET, (list(_SETTINGS), list(_SETTINGS.values())))
            self._connection.execute(f'LISTEN "{stop_channel(self._target.schema)}"')
        except psycopg.Error as error:
            raise unusable(error, self._place, self._target.schema) from error
        self._connection.prepare_threshold = 5
        self._connection.add_notify_handler(lambda notice: self._hear(notice.payload))
        return serving

    # -- calls by other threads

    def claim(self, run_id: str, work: Callable[[psycopg.Connection[Any]], Result]) -> Result | None:
        """Return the result of `work`, which takes the lock of a run, or None where it is not free.

        Raises:
            RunRecordError: This process holds the run already, the connection is lost, or the server refuses.
        """

        def claimed(connection: psycopg.Connection[Any]) -> Result | None:
            # The server would give the lock to the same session again.
            if run_id in self._ids:
                raise RunRecordError(
                    f"this process works on the run {run_id} already", fix="close the journal that it has open first"
                )
            result = work(connection)
            if result is not None:
                self._ids.add(run_id)
            return result

        return self._call(claimed)

    def hold(self, run: HeldRun) -> None:
        """Have a run that was claimed learn it when it is asked to stop, and when the connection is lost."""
        with self._lock:
            self._held[run.number] = run
            error = self.error
        if error is not None:
            run.lose(error)

    def write(self, entry: Entry) -> None:
        """Have something of a run stored with the next commit.

        Raises:
            RunRecordError: The connection is lost.
        """
        self._put(entry)

    def release(self, run: HeldRun, key: int) -> None:
        """Give up a run when all that it has written is committed."""

        def released(connection: psycopg.Connection[Any]) -> None:
            connection.execute("SELECT pg_advisory_unlock(%s)", (key,))
            self._ids.discard(run.run_id)

        with contextlib.suppress(RunRecordError):  # the lock has gone with the connection
            self._call(released)
        with self._lock:
            self._held.pop(run.number, None)

    def close(self) -> None:
        """End the connection when all is committed."""
        with self._lock:
            self._is_closing = True
        self._wake()
        self._thread.join()

    def _call(self, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        done: Future[Result] = Future()
        self._put(Call(work, done))
        return done.result()

    def _put(self, item: Entry | Call) -> None:
        with self._lock:
            if self.error is None and (self._is_closing or self._process != os.getpid()):
                self.error = RunRecordError(
                    f"the store {self._place} is not open in this process",
                    fix="open it in the process that uses it",
                )
            if self.error is not None:
                raise self.error
            self._queue.append(item)
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            if self._is_woken:
                return
            self._is_woken = True
            with contextlib.suppress(OSError):  # the thread has ended
                self._waker.send(b"\0")

    # -- the thread

    def _work(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._connection.fileno(), selectors.EVENT_READ)
                selector.register(self._woken, selectors.EVENT_READ)
                while self.error is None and self._step(selector):
                    pass
        except BaseException as error:  # noqa: BLE001 - the runs must learn of it, whatever it is
            self._lose(error)
        finally:
            for closable in (self._connection, self._woken, self._waker):
                closable.close()

    def _step(self, selector: selectors.BaseSelector) -> bool:
        """Do the next work, or wait for it; return whether the session goes on."""
        next_work = self._taken()
        if isinstance(next_work, Call):
            self._do_call(next_work)
        elif next_work:
            self._store(next_work)
        elif self._is_closing:
            return False
        else:
            for ready, _ in selector.select():
                self._look() if ready.fileobj is not self._woken else self._wake_up()
        return True

    def _wake_up(self) -> None:
        with self._lock:
            self._woken.recv(16)
            self._is_woken = False

    def _taken(self) -> list[Entry] | Call:
        """Return a call, or the entries of the next commit; an empty list where there is nothing to do."""
        entries: list[Entry] = []
        size = 0
        with self._lock:
            while self._queue and len(entries) < MOST_ENTRIES and size < MOST_CHARACTERS:
                first = self._queue[0]
                if isinstance(first, Call):
                    return entries or self._queue.popleft()  # type: ignore[return-value]
                size += first.size
                entries.append(first)
                self._queue.popleft()
        return entries

    def _do_call(self, call: Call) -> None:
        try:
            call.done.set_result(call.work(self._connection))
        except RunRecordError as error:
            call.done.set_exception(error)
        except Exception as error:  # noqa: BLE001 - of the server or of the client
            call.done.set_exception(self._failed(error))

    def _store(self, entries: list[Entry]) -> None:
        """Commit entries; where the server refuses them, those of each run by themselves: one must not fail another."""
        try:
            held_runs = store_entries(self._connection, self._statement, entries, self._backend)
        except Exception as error:  # noqa: BLE001 - of the server or of the client
            failed, runs = self._failed(error), by_run(entries)
            if self.error is None and len(runs) > 1:
                for alone in runs:
                    self._store(alone)
                return
            for alone in runs if self.error is None else ():
                alone[0].run.lose(failed, is_held=True)
            answer(entries, {entry.run.number: failed for entry in entries})
            return
        errors = {
            run.number: taken_over(run.run_id)
            for run in (entry.run for entry in entries)
            if run.number not in held_runs
        }
        for entry in entries:
            if entry.run.number in errors:
                entry.run.lose(errors[entry.run.number])
            elif held_runs[entry.run.number]:
                entry.run.ask_to_stop()
        answer(entries, errors)

    def _look(self) -> None:
        """Read the server's notices: requests to stop a run, or the end of the connection."""
        import psycopg

        try:
            self._connection.pgconn.consume_input()
            while (notice := self._connection.pgconn.notifies()) is not None:
                self._hear(notice.extra.decode())
        except psycopg.Error as error:
            self._lose(error)

    def _hear(self, payload: str) -> None:
        number, fence = map(int, payload.split())
        with self._lock:
            run = self._held.get(number)
        if run is not None and run.fence == fence:
            run.ask_to_stop()

    def _failed(self, error: Exception) -> RunRecordError:
        """Return the error for a statement that failed; with the connection, all runs are lost."""
        if isinstance(error, OtherBackend) or is_lost(error, self._connection):
            return self._lose(error)
        return unusable(error, self._place, self._target.schema)

    def _lose(self, error: BaseException) -> RunRecordError:
        """Refuse all present and later writes, and tell the runs that they are not held any more."""
        unreachable = Unreachable(
            f"the connection to the store {self._place} is lost, and with it the hold on the runs of this process: "
            f"{words_of(error)}",
            fix="when the store can be reached again: strands resume RUN",
        )
        with self._lock:
            self.error = self.error or unreachable
            queue, self._queue = list(self._queue), deque()
            runs = list(self._held.values())
        for run in runs:
            run.lose(unreachable)
        for call in (waiting_call for waiting_call in queue if isinstance(waiting_call, Call)):
            call.done.set_exception(unreachable)
        waiting = [waiting_call for waiting_call in queue if isinstance(waiting_call, Entry)]
        answer(waiting, {entry.run.number: unreachable for entry in waiting})
        return unreachable


def stop_channel(schema: str) -> str:
    """Return the name of the channel for requests to stop runs; the payload is a run's number and its fence."""
    return f"{schema}.stop"


def taken_over(run_id: str) -> RunRecordError:
    """Return the error for a process that writes to a run which another one has taken over."""
    return RunRecordError(
        f"this process no longer holds the run {run_id}: another one has taken it over, and nothing is written",
        fix=f"see what the other one does: strands runs show {run_id} --follow",
    )
