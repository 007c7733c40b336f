"""The journal of one run in Postgres: to read it, and for the process that holds the run to write it."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from strands_cli.api import HIDE_NOTHING, Redactor, Row, RowKind, RunRecordError, row_of
from strands_cli_postgres.connections import lock_key
from strands_cli_postgres.database import Database, once
from strands_cli_postgres.group_commit import Entry
from strands_cli_postgres.held_runs import TakenRun, is_held
from strands_cli_postgres.read_ahead import FactsAhead, RowsAhead
from strands_cli_postgres.written_values import FactChange, RowChange, fact_change, row_change

ROWS_AT_ONCE = 256
COLUMNS = (
    "key, kind, status, digest, attempt, output, output_digest, usage, cost, detail, started_at, ended_at, position"
)
_ROW = f"SELECT {COLUMNS} FROM {{schema}}.effects WHERE run = %s AND key = %s"  # noqa: S608 - constant text, as below
_ROWS_AFTER = f"""
SELECT {COLUMNS} FROM {{schema}}.effects WHERE run = %s AND position > %s AND (%s::text IS NULL OR kind = %s)
ORDER BY position LIMIT {ROWS_AT_ONCE}
"""  # noqa: S608
# `0` follows `/`.
_ROWS_BELOW = f"""
SELECT {COLUMNS} FROM {{schema}}.effects WHERE run = %s AND key > %s AND key < %s AND (%s::text IS NULL OR kind = %s)
ORDER BY position
"""  # noqa: S608
_OUTPUT = "SELECT value FROM {schema}.outputs WHERE run = %s AND digest = %s"


# Facts that a process stores when it begins to work on a run.
_OF_THE_BEGINNING = frozenset({"status", "session_started_at", "pid"})


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class PostgresJournal:
    """See `StoredJournal`; made by `PostgresStore`.

    Attributes:
        number: The number of the run in the database.
    """

    def __init__(self, database: Database, run_id: str, number: int) -> None:
        self.run_id, self.number = run_id, number
        self.place = database.place
        self.record = database.place.record(run_id)
        self.redactor: Redactor = HIDE_NOTHING
        self._database = database.use()
        # Shared with its copies.
        self._release = once(database.release)
        self._facts = FactsAhead(database, number)
        self._is_tolerant = False

    def tolerant(self) -> PostgresJournal:
        """Return it for those who only look: its rows have their readable parts."""
        reader = copy.copy(self)
        reader._is_tolerant = True
        return reader

    def is_held(self) -> bool:
        """Return whether a process works on the run now."""
        return is_held(self._database, self.run_id)

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Do nothing: who only reads has nothing to stop."""

    def row(self, key: str) -> Row | None:
        """Return the newest row of this key, or None."""
        rows = self._query(_ROW, self.number, key)
        return self._row(rows[0]) if rows else None

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        """Yield rows in the order in which their effects first started; with `below` those whose keys are below it."""
        if below:
            rows = self._query(_ROWS_BELOW, self.number, f"{below}/", f"{below}0", kind, kind)
            yield from (self._row(columns, is_lazy=True) for columns in rows)
            return
        position = 0
        while rows := self._query(_ROWS_AFTER, self.number, position, kind, kind):
            for columns in rows:
                yield self._row(columns, is_lazy=True)
            position = rows[-1][-1]

    def get(self, name: str) -> Any:
        """Return one fact about the run, or None."""
        text = self._text(name)
        return None if text is None else self._decoded(functools.partial(json.loads, text))

    def _text(self, name: str) -> str | None:
        """Return the JSON of a fact, or None where there is none."""
        return self._facts.text(name)

    async def write(self, row: Row) -> None:
        """Refuse: only the process that holds the run writes."""
        raise self._not_held()

    async def begin(self, row: Row) -> None:
        """Refuse, as `write`."""
        raise self._not_held()

    def note(self, row: Row) -> None:
        """Refuse, as `write`."""
        raise self._not_held()

    def put(self, **facts: Any) -> None:
        """Refuse, as `write`."""
        raise self._not_held()

    async def store(self, **facts: Any) -> None:
        """Refuse, as `write`."""
        raise self._not_held()

    def close(self) -> None:
        """Release the connections to the database."""
        self._release()

    def _not_held(self) -> RunRecordError:
        return RunRecordError(
            f"the journal of the run {self.run_id} is open to read only", fix="open it with `hold=True` to write"
        )

    def _query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._database.query(statement, parameters)

    def _row(self, columns: Sequence[Any], *, is_lazy: bool = False) -> Row:
        read = functools.partial(self._output, columns[5], columns[6])
        make = functools.partial(row_of, columns, read, is_tolerant=self._is_tolerant, is_lazy=is_lazy)
        row: Row = self._decoded(make)
        return row

    def _output(self, text: str | None, digest: str | None) -> Any:
        if digest is not None:
            outputs = self._query(_OUTPUT, self.number, digest)
            text = outputs[0][0] if outputs else self._lacking(digest)
        return None if text is None else self._decoded(functools.partial(json.loads, text))

    def _lacking(self, digest: str) -> str:
        raise RunRecordError(f"{self.record} lacks the output {digest}", fix=f"strands runs delete {self.run_id}")

    def _decoded(self, decode: Callable[[], Any]) -> Any:
        try:
            return decode()
        except (ValueError, TypeError, RecursionError) as error:
            raise RunRecordError(
                f"the journal in {self.record} is damaged: {error}", fix=f"remove it: strands runs delete {self.run_id}"
            ) from error


class HeldJournal(PostgresJournal):
    """The journal of a run that this process holds.

    Attributes:
        fence: That of the run when it was taken; a row is only written while the run has it.
    """

    def __init__(self, database: Database, run_id: str, taken_run: TakenRun) -> None:
        super().__init__(database, run_id, taken_run.number)
        self.fence = taken_run.fence
        self._session = taken_run.session
        self._position, self._listed = taken_run.position, taken_run.listed
        self._lock = threading.Lock()
        self._newest: dict[str, Row] = {}  # uncommitted rows, by key
        self._error: RunRecordError | None = None
        self._stop: Callable[[], None] | None = None
        self._is_asked = False
        self._facts.is_held = True
        self._ahead = RowsAhead(database, taken_run.number, is_new=not taken_run.position)
        key = lock_key(database.schema, run_id)
        self._give_up = once(lambda: self._session.release(self, key))
        self._session.hold(self)

    def is_held(self) -> bool:
        """Return whether this process works on it, or another one that has taken the run over."""
        return self._error is None or super().is_held()

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Have `stop` called when a person asks for the end of the run, or when it is not held any more."""
        with self._lock:
            self._stop, is_asked = stop, self._is_asked
        if is_asked:
            self.ask_to_stop()

    def ask_to_stop(self) -> None:
        """Call the function of `on_stop`, once."""
        with self._lock:
            self._is_asked, stop = True, self._stop
            if stop is not None:
                self._stop = None
        if stop is not None:
            # It may belong to a loop that has ended meanwhile; no error of it may end the thread that writes.
            with contextlib.suppress(Exception):
                stop()

    def lose(self, error: RunRecordError, *, is_held: bool = False) -> None:
        """Refuse every later write with this error, and end the work unless the run is held all the same."""
        with self._lock:
            self._error = self._error or error
        if not is_held:
            self.ask_to_stop()

    def row(self, key: str) -> Row | None:
        """Return the newest row of this key, also an uncommitted one."""
        with self._lock:
            newest = self._newest.get(key)
        if newest is not None:
            return newest
        columns = self._ahead.columns(key)
        return None if columns is None else self._row(columns)

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        """Yield rows, also merely noted ones, which are committed first.

        Where it is known that there is none, nothing is asked: a query would stop all runs of the event loop.
        """
        if self._ahead.has_none(kind, below):
            return
        self._flush()
        yield from super().rows(kind, below)

    async def write(self, row: Row) -> None:
        """Store a row and return when it is committed.

        That of a step does not wait: calls of models and tools must not be made twice, each of them begins only when
        all rows before it are committed, and so does the end of the run.

        Raises:
            RunRecordError: It cannot be stored, or this process no longer holds the run.
        """
        if row.kind == "step":
            self._enqueue(row, None)
            return
        committed = asyncio.get_running_loop().create_future()
        self._enqueue(row, committed)
        await committed

    async def begin(self, row: Row) -> None:
        """Store that an effect begins, and return when it is committed: only then the run is certainly held."""
        await self.write(row)

    def note(self, row: Row) -> None:
        """Store a row with the next commit, without waiting."""
        self._enqueue(row, None)

    def put(self, **facts: Any) -> None:
        """Store facts about the run and commit at once.

        In an event loop, where waiting would stop all of its runs, facts of a run that begins are only sent: its first
        call waits until they are committed.
        """
        change: FactChange = self._decoded_value(lambda: fact_change(facts, self.redactor, self._listed))
        self._listed = change.listed
        if facts.keys() & _OF_THE_BEGINNING and facts.get("status") in (None, "running") and _in_event_loop():
            self._send(Entry(self, change.add, change.size))
            self._facts.note(change.texts)
            return
        done: Future[None] = Future()
        self._send(Entry(self, change.add, change.size, done))
        done.result()
        self._facts.note(change.texts)

    async def store(self, **facts: Any) -> None:
        """Store facts about the run, and return when they are committed."""
        change: FactChange = self._decoded_value(lambda: fact_change(facts, self.redactor, self._listed))
        self._listed = change.listed
        done = asyncio.get_running_loop().create_future()
        self._send(Entry(self, change.add, change.size, done))
        await done
        self._facts.note(change.texts)

    def close(self) -> None:
        """Commit pending rows and release the run."""
        self._give_up()
        with self._lock:
            self._error = self._error or self._not_held()
        super().close()

    def _flush(self) -> None:
        """Wait until all that was written is committed."""
        with self._lock:
            if not self._newest:
                return
        done: Future[None] = Future()
        self._send(Entry(self, None, done=done))
        done.result()

    def _enqueue(self, row: Row, committed: asyncio.Future[None] | None) -> None:
        with self._lock:
            self._position += 1
            position = self._position
        change: RowChange = self._decoded_value(lambda: row_change(row, self.redactor, position))
        with self._lock:
            self._newest[row.key] = change.row
        self._ahead.note(row.key, row.kind)
        done = functools.partial(self._forget, change.row)
        try:
            self._send(Entry(self, change.add, change.size, committed, done))
        except RunRecordError:
            self._forget(change.row)
            raise

    def _forget(self, row: Row) -> None:
        """Read a row from the database from now on, unless a newer one of its key is not committed yet."""
        self._ahead.drop(row.key)
        with self._lock:
            if self._newest.get(row.key) is row:
                del self._newest[row.key]

    def _send(self, entry: Entry) -> None:
        if self._error is not None:
            raise self._error
        self._session.write(entry)

    def _decoded_value(self, make: Callable[[], Any]) -> Any:
        """Return the value of `make`: one that cannot be stored must not fail the others of a commit."""
        try:
            return make()
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise RunRecordError(
                f"the journal in {self.record} cannot store a value: {error}",
                fix="have the step or the tool return JSON",
            ) from error
