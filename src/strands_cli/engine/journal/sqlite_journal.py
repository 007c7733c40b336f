"""The journal in SQLite: a directory with a database for each run, locked by one process."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import errno
import functools
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from strands_cli.engine.folder_lock import hold_run, is_run_held
from strands_cli.engine.journal.damaged_rows import (
    LARGE_OUTPUT_BYTES,
    json_text,
    json_value,
    row_of,
    stored_texts,
    usage_text,
)
from strands_cli.engine.journal.journal_rows import Row, RowKind
from strands_cli.errors import CannotStore, RunRecordError
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.store_place import StorePlace

# The names of the files of a run's journal.


DATABASE = "journal.sqlite"
OUTPUTS = "outputs"


# The file of a journal without rows, and the files that a process leaves if it dies while it makes one.


FORMAT = 1

# `key` and the column names are compatibility data: a test pins them.
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE effects (
    key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, status TEXT NOT NULL, digest TEXT NOT NULL, attempt INTEGER NOT NULL,
    output TEXT, output_file TEXT, usage TEXT NOT NULL, cost REAL, detail TEXT NOT NULL,
    started_at REAL NOT NULL, ended_at REAL, position INTEGER PRIMARY KEY
);
"""


def has_no_more_than_a_journal(directory: Path) -> bool:
    """Return whether a folder has nothing but the lock and the journal of a run."""
    try:
        names = [entry.name for entry in directory.iterdir()]
    except OSError:
        return False
    return all(name == "lock" or name.startswith(DATABASE) for name in names)


def cannot_make(directory: Path, error: OSError) -> RunRecordError:
    """Return the error for a run whose folder cannot be made: it exists, or the next one could not be made either."""
    kind = RunRecordError if error.errno == errno.EEXIST else CannotStore
    return kind(
        f"cannot make the run's directory {directory}: {error.strerror or error}",
        fix="choose a writable place with --runs-dir or STRANDS_RUNS_DIR",
    )


def remove_part(directory: Path) -> None:
    """Remove the files of a process that died while it made the journal; raise for a whole journal."""
    database = directory / DATABASE
    if database.exists() and not is_part(database):
        with contextlib.closing(sqlite3.connect(database)) as connection:
            if connection.execute("PRAGMA user_version").fetchone() != (0,):
                raise cannot_make(directory, FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)))
    for part in directory.glob(f"{DATABASE}*"):  # SQLite's other files too: it would read them into the new one
        part.unlink()


def is_part(database: Path) -> bool:
    """Return whether a file is the beginning of an empty journal, and not the whole of it."""
    empty = empty_database()
    return database.stat().st_size < len(empty) and empty.startswith(database.read_bytes())


@functools.cache
def empty_database() -> bytes:
    """Return the file of a journal without rows: SQLite makes one in 4 ms and waits for the disk, a copy takes none."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(f"{TABLES} PRAGMA user_version = {FORMAT};")
        content = bytearray(connection.serialize())
    # In memory there is no write-ahead log: the versions for writing and reading of a database with one, as
    # https://www.sqlite.org/fileformat.html#file_format_version_numbers has them.
    content[18:20] = b"\2\2"
    return bytes(content)


# Errors of a journal's database and files as errors of its run.


class StorageErrors:
    """Turns errors of a damaged row or database into `RunRecordError`, and those of the disk into `CannotStore`.

    A class, since a generator would cost more than the reading of a row.
    """

    __slots__ = ("_directory",)

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (sqlite3.Error, OSError, ValueError, TypeError, RecursionError)):
            # Of the others, the journal is damaged, or a row cannot be stored.
            is_storage = isinstance(error, (sqlite3.OperationalError, OSError))
            raise (CannotStore if is_storage else RunRecordError)(
                f"the journal in {self._directory} cannot be used: {error}",
                fix="check the disk (space, permissions); where the journal is damaged, remove it: "
                f"strands runs delete {self._directory.name}",
            ) from error


ROWS_AT_ONCE = 256

_UPSERT = """
INSERT INTO effects (key, kind, status, digest, attempt, output, output_file, usage, cost, detail, started_at, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET status = excluded.status, digest = excluded.digest, attempt = excluded.attempt,
    output = excluded.output, output_file = excluded.output_file, usage = excluded.usage, cost = excluded.cost,
    detail = excluded.detail, started_at = excluded.started_at, ended_at = excluded.ended_at
"""
_COLUMNS = (
    "key, kind, status, digest, attempt, output, output_file, usage, cost, detail, started_at, ended_at, position"
)
_ROW_AND_NEXT = f"""
SELECT {_COLUMNS} FROM effects WHERE position >= (SELECT position FROM effects WHERE key = ?)
    AND kind = (SELECT kind FROM effects WHERE key = ?) ORDER BY position LIMIT ?
"""  # noqa: S608 - constant text
_ROWS_AFTER = f"""
SELECT {_COLUMNS} FROM effects WHERE position > ? AND (? IS NULL OR kind = ?) ORDER BY position LIMIT ?
"""  # noqa: S608 - constant text
# `0` follows `/`. With a plain `ORDER BY position` SQLite may read the whole table to have no need to sort.
_ROWS_BELOW = f"""
SELECT {_COLUMNS} FROM effects WHERE key > ? AND key < ? AND (? IS NULL OR kind = ?) ORDER BY +position
"""  # noqa: S608 - constant text


class SqliteJournal:
    """The journal of one run; open it with `create` or `open`.

    Rows written in one turn of the event loop are committed together. `synchronous=NORMAL` survives the death of the
    process; a power cut may lose the last commits.

    Attributes:
        run_id: The name of the directory.
        place: The directory of all runs.
        record: The directory of the run, for a person.
        redactor: Hides secrets in every row and fact written from now on.
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: Any) -> None:
        self.directory = directory
        self.run_id, self.record = directory.name, str(directory)
        self.place = StorePlace(directory.parent)
        self.redactor: Redactor = HIDE_NOTHING
        self._connection = connection
        self._lock = lock
        self._pending: list[tuple[tuple[Any, ...], asyncio.Future[None] | None]] = []
        self._newest: dict[str, Row] = {}  # pending rows by key
        self._ahead: dict[str, Sequence[Any]] = {}  # columns of rows read ahead, by key
        self._ahead_at_once = 1
        self._flush_scheduled = False
        self._broken: RunRecordError | None = None
        self._kinds: dict[str, RowKind] | None = None  # of all rows by key, where this process has made the journal
        self._is_tolerant = False

    @classmethod
    def create(cls, directory: Path) -> SqliteJournal:
        """Make the run's directory with an empty journal, and lock it.

        A directory that a process has left which died before it had made the journal is taken.

        Raises:
            RunRecordError: The directory has a journal.
            CannotStore: It cannot be made or written.
        """
        is_left = False
        try:
            directory.mkdir(parents=True, mode=0o700)
        except OSError as error:
            is_left = isinstance(error, FileExistsError) and has_no_more_than_a_journal(directory)
            if not is_left:
                raise cannot_make(directory, error) from error
        with _released_on_failure(directory, hold=True) as (stack, lock):
            if is_left:
                remove_part(directory)
            # In one write: a process that dies here leaves nothing that looks like a record.
            (directory / DATABASE).write_bytes(empty_database())
            connection = _connect(directory, stack)
        journal = cls(directory, connection, lock)
        journal._kinds = {}
        return journal

    @classmethod
    def open(cls, directory: Path, *, hold: bool = True) -> SqliteJournal:
        """Open an existing journal; with `hold=False` only to read, without a lock.

        Raises:
            RunRecordError: There is none, it is damaged, locked by another process, or from another version.
        """
        if not directory.exists():
            message = f"the run {directory.name} does not exist any more"
            raise RunRecordError(message, fix="see what there is: strands runs list")
        fix = f"remove what is left of it: strands runs delete {directory.name}"
        if not (directory / DATABASE).is_file():
            raise RunRecordError(f"there is no journal in {directory}", fix=fix)
        if is_part(directory / DATABASE):
            raise RunRecordError(f"the journal in {directory} is empty", fix=fix)
        with _released_on_failure(directory, hold=hold) as (stack, lock):
            connection = _connect(directory, stack, read_only=not hold)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == FORMAT:
                connection.execute("SELECT (SELECT count(*) FROM facts), (SELECT max(position) FROM effects)")
            elif version == 0:
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                    raise RunRecordError(f"the journal in {directory} is empty", fix=fix)
                raise sqlite3.DatabaseError("it is not a journal")
            else:
                raise RunRecordError(
                    f"the journal in {directory} has format {version}; this version reads format {FORMAT}",
                    fix="use the version of strands-cli that wrote it, or start a new run",
                )
        return cls(directory, connection, lock)

    def row(self, key: str) -> Row | None:
        """Return the newest row of this key, also a pending one."""
        if key in self._newest:
            return self._newest[key]
        if self._kinds is not None and key not in self._kinds:
            return None
        columns = self._ahead.pop(key, None) or self._read_ahead(key)
        return self._read_row(columns) if columns else None

    def tolerant(self) -> SqliteJournal:
        """Return it for those who only look: its rows have their readable parts, and `damage_of` tells the rest."""
        reader = copy.copy(self)
        reader._is_tolerant, reader._ahead = True, {}
        return reader

    def _read_ahead(self, key: str) -> Sequence[Any] | None:
        """Return the columns of one row, and read those after it of its kind: a resumed run asks for them next.

        Each time that all of them were asked for, the next part is twice as large. Only the process that holds the run
        reads ahead, since rows that another one writes would be missed.
        """
        was_read = self._lock is not None and not self._ahead
        self._ahead_at_once = min(2 * self._ahead_at_once, ROWS_AT_ONCE) if was_read else 1
        rows = self._query(_ROW_AND_NEXT, key, key, self._ahead_at_once)
        self._ahead = {columns[0]: columns for columns in rows}
        return self._ahead.pop(key, None)

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        """Yield rows in the order in which their effects first started; with `below` those whose keys are below it."""
        self._flush()
        kinds = self._kinds
        if kinds is not None and (not kinds or (kind is not None and kind not in kinds.values())):
            return
        if below:
            rows = self._query(_ROWS_BELOW, f"{below}/", f"{below}0", kind, kind)
            yield from self._read_lazily(rows)
            return
        position = 0
        # In parts: a long run's journal need not fit into memory, and the first row is there at once.
        while rows := self._query(_ROWS_AFTER, position, kind, kind, ROWS_AT_ONCE):
            yield from self._read_lazily(rows)
            position = rows[-1][-1]

    def is_held(self) -> bool:
        """Return whether a process works on the run now; this one too."""
        return is_run_held(self.directory)

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Do nothing: a process is asked to end its run by a signal, and cannot lose the lock."""

    async def begin(self, row: Row) -> None:
        """Store with the next commit that an effect begins: only this process can, as long as it has the lock."""
        self._enqueue(row, None)

    async def write(self, row: Row) -> None:
        """Store a row and return when it is committed.

        Raises:
            RunRecordError: The row cannot be stored; after a failed commit no later one is tried.
        """
        committed = asyncio.get_running_loop().create_future()
        self._enqueue(row, committed)
        await committed

    def note(self, row: Row) -> None:
        """Store a row with the next commit, without waiting."""
        self._enqueue(row, None)

    def get(self, name: str) -> Any:
        """Return one fact about the run, or None."""
        rows = self._query("SELECT value FROM facts WHERE name = ?", name)
        with StorageErrors(self.directory):
            return json_value(rows[0][0]) if rows else None

    def put(self, **facts: Any) -> None:
        """Store facts about the run and commit at once."""
        with StorageErrors(self.directory), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            texts = {name: json_text(value) for name, value in facts.items()}
            if self.redactor.may_hide_in(*texts.values()):
                texts = {name: json_text(self.redactor.json(value)) for name, value in facts.items()}
            rows = list(texts.items())
            self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

    def offer(self, **facts: Any) -> None:
        """Store facts for the process that holds the run, which reads each fact when it is asked for."""
        with contextlib.ExitStack() as stack, StorageErrors(self.directory):
            texts = [(name, json_text(self.redactor.json(value))) for name, value in facts.items()]
            connection = _connect(self.directory, stack)
            connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", texts)

    async def store(self, **facts: Any) -> None:
        """Store facts about the run; this journal waits for no other process."""
        self.put(**facts)

    def close(self) -> None:
        """Commit pending rows, close the database and release the run."""
        with contextlib.ExitStack() as stack:
            if self._lock is not None:
                stack.callback(self._lock.release)
            stack.callback(self._connection.close)
            self._flush()

    def _enqueue(self, row: Row, committed: asyncio.Future[None] | None) -> None:
        if self._broken is not None:
            raise self._broken
        # Here and not with the commit: a row that cannot be stored must not fail the others.
        with StorageErrors(self.directory):
            row, output, detail = stored_texts(row, self.redactor)
            columns = self._columns(row, output, detail)
        self._pending.append((columns, committed))
        self._newest[row.key] = row
        if self._kinds is not None:
            self._kinds[row.key] = row.kind
        self._ahead.pop(row.key, None)
        if not self._flush_scheduled:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Commit all pending rows in one transaction and wake the tasks that wait for them."""
        self._flush_scheduled = False
        pending, self._pending, self._newest = self._pending, [], {}
        if not pending:
            return
        try:
            with StorageErrors(self.directory), self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(_UPSERT, [columns for columns, _ in pending])
        except RunRecordError as error:
            self._broken = error
        for _, committed in pending:
            if committed is not None and not committed.done():
                if self._broken is None:
                    committed.set_result(None)
                else:
                    committed.set_exception(self._broken)

    def _columns(self, row: Row, text: str, detail: str) -> tuple[Any, ...]:
        output, output_file = (None, None) if row.output is None else self._store_output(text)
        values = (row.key, row.kind, row.status, row.digest, row.attempt, output, output_file)
        return (*values, usage_text(row.usage), row.cost, detail, row.started_at, row.ended_at)

    def _store_output(self, text: str) -> tuple[str | None, str | None]:
        """Return the output as text, or the name of the file for a large one."""
        encoded = text.encode()
        if len(encoded) <= LARGE_OUTPUT_BYTES:
            return text, None
        name = f"{hashlib.sha256(encoded).hexdigest()}.json"
        target = self.directory / OUTPUTS / name
        target.parent.mkdir(mode=0o700, exist_ok=True)
        partial = target.with_suffix(".partial")
        try:
            with partial.open("wb") as stream:
                stream.write(encoded)
                stream.flush()
                # A row must not survive a power cut without the file that it names.
                os.fsync(stream.fileno())
            partial.replace(target)
        except OSError:
            # The partial file must not fill the disk.
            partial.unlink(missing_ok=True)
            raise
        return None, name

    def _read_row(self, columns: Sequence[Any]) -> Row:
        """Return a row with its output."""
        with StorageErrors(self.directory):
            return row_of(
                columns, functools.partial(self._read_output, columns[5], columns[6]), is_tolerant=self._is_tolerant
            )

    def _read_lazily(self, rows: Sequence[Sequence[Any]]) -> Iterator[Row]:
        """Yield rows whose output is decoded when it is first read."""
        is_tolerant = self._is_tolerant
        with StorageErrors(self.directory):
            for columns in rows:
                read = functools.partial(self._read_output, columns[5], columns[6])
                yield row_of(columns, read, is_tolerant=is_tolerant, is_lazy=True)

    def _read_output(self, text: str | None, file: str | None) -> Any:
        with StorageErrors(self.directory):
            text = text if file is None else self._read_file(file)
            return None if text is None else json_value(text)

    def _read_file(self, name: str) -> str:
        path = self.directory / OUTPUTS / name
        encoded = path.read_bytes()
        if hashlib.sha256(encoded).hexdigest() != path.stem:
            raise ValueError(f"{path} has been changed")
        return encoded.decode()

    def _query(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with StorageErrors(self.directory):
            try:
                return self._connection.execute(query, parameters).fetchall()
            except sqlite3.OperationalError:
                if not self._is_tolerant:
                    raise
                # A text in another encoding than UTF-8 must not hide the other rows; where that is not the reason, it
                # fails again.
                return self._query_any_text(query, parameters)

    def _query_any_text(self, query: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        self._connection.text_factory = lambda text: text.decode(errors="backslashreplace")
        try:
            return self._connection.execute(query, parameters).fetchall()
        finally:
            self._connection.text_factory = str


def _connect(directory: Path, stack: contextlib.ExitStack, *, read_only: bool = False) -> sqlite3.Connection:
    mode = "mode=rwc"
    if read_only:
        # A reader of a WAL database writes files beside it. Without a WAL there is no writer, and the database can be
        # read without writing (https://www.sqlite.org/uri.html#uriimmutable).
        mode = "mode=ro" if (directory / f"{DATABASE}-wal").exists() else "mode=ro&immutable=1"
    address = f"{(directory / DATABASE).absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=10)
    stack.callback(connection.close)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


@contextlib.contextmanager
def _released_on_failure(directory: Path, *, hold: bool) -> Iterator[tuple[contextlib.ExitStack, Any]]:
    """Take the run's lock if `hold`; release it and close the stack if opening the journal fails."""
    with contextlib.ExitStack() as stack, StorageErrors(directory):
        lock = hold_run(directory) if hold else None
        if lock is not None:
            stack.callback(lock.release)
        yield stack, lock
        stack.pop_all()
