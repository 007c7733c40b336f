"""The store of addresses `shelf://PATH`: all runs in one SQLite file of this machine."""

import contextlib
import copy
import fcntl
import hashlib
import json
import os
import re
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from strands_cli.api import (
    HIDE_NOTHING,
    RunRecordError,
    StoredRun,
    json_text,
    named_run,
    row_of,
    stored_texts,
    usage_text,
)

TABLES = """
CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, changes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS facts (run TEXT, name TEXT, value TEXT, PRIMARY KEY (run, name));
CREATE TABLE IF NOT EXISTS effects (
  position INTEGER PRIMARY KEY, run TEXT, key TEXT, kind TEXT, status TEXT, digest TEXT, attempt INTEGER, output TEXT,
  usage TEXT, cost REAL, detail TEXT, started_at REAL, ended_at REAL, UNIQUE (run, key));
"""
# In the order that `row_of` takes; the empty text is the name of an output that is stored elsewhere.
COLUMNS = "key, kind, status, digest, attempt, output, '', usage, cost, detail, started_at, ended_at, position"
# The end of the id of a row of a batch, which is a run too: `last` means none of them.
ROW = re.compile(r"-[0-9a-f]{8}[.][0-9a-f]{16}$")
LOOK_S = 0.1


class Shelf:
    """The file of a store, and the locks that say which process works on a run."""

    def __init__(self, place, file):
        self.place, self.file = place, file
        self._guard = threading.RLock()
        try:
            # `rw`: only `init` makes the file.
            self._connection = sqlite3.connect(f"file:{file}?mode=rw", uri=True, check_same_thread=False, timeout=60)
        except sqlite3.Error as error:
            raise RunRecordError(
                f"{place} cannot be opened: {error}", fix=f"strands runs store init --store {place}"
            ) from None
        self._connection.isolation_level = None

    def ask(self, statement, *values):
        """Return the rows of one statement, which is a transaction of its own."""
        return self.write((statement, values))

    def write(self, *statements):
        """Do statements in one transaction, which is on the disk when this returns."""
        try:
            with self._guard:
                self._connection.execute("BEGIN IMMEDIATE" if len(statements) > 1 else "BEGIN")
                try:
                    for statement, values in statements:
                        found = self._connection.execute(statement, values).fetchall()
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
                return found
        except sqlite3.Error as error:
            raise RunRecordError(f"{self.place} does not answer: {error}", fix="check the file and its disk") from error

    def lock(self, run_id, *, waits_s=0.0):
        """Return the descriptor that holds a run; None where another process has it. The system ends it with ours."""
        name = hashlib.sha256(run_id.encode()).hexdigest()
        held = os.open(f"{self.file}.{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        end = time.monotonic() + waits_s
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return held
            except BlockingIOError:
                if time.monotonic() >= end:
                    os.close(held)
                    return None
                time.sleep(LOOK_S)

    def is_held(self, run_id):
        """Return whether a process works on a run."""
        held = self.lock(run_id)
        if held is not None:
            os.close(held)
        return held is None

    def close(self):
        """Close the file."""
        with self._guard:
            self._connection.close()


class ShelfJournal:
    """The journal of one run: see `StoredJournal`."""

    def __init__(self, shelf, run_id, held=None):
        self.run_id, self.place, self.record = run_id, shelf.place, shelf.place.record(run_id)
        self.redactor = HIDE_NOTHING
        self._shelf, self._held, self._is_tolerant = shelf, held, False

    def row(self, key):
        return next(self._rows("key = ?", key), None)

    def rows(self, kind=None, below=""):
        where, values = "TRUE", []
        if kind is not None:
            where, values = "kind = ?", [kind]
        if below:
            where, values = f"{where} AND substr(key, 1, ?) = ?", [*values, len(below) + 1, f"{below}/"]
        return self._rows(where, *values)

    def _rows(self, where, *values) -> Iterator:
        order = f"SELECT {COLUMNS} FROM effects WHERE run = ? AND {where} ORDER BY position"
        for columns in self._shelf.ask(order, self.run_id, *values):
            try:
                yield row_of(columns, lambda text=columns[5]: json.loads(text), is_tolerant=self._is_tolerant)
            except (TypeError, ValueError, RecursionError) as error:
                raise RunRecordError(f"a row of {self.record} is damaged: {error}", fix="start a new run") from error

    def note(self, row):
        try:
            row, output, detail = stored_texts(row, self.redactor)
        except (TypeError, ValueError, RecursionError) as error:
            raise RunRecordError(f"{row.key} cannot be stored: {error}", fix="return JSON") from error
        values = (row.kind, row.status, row.digest, row.attempt, output, usage_text(row.usage), row.cost, detail)
        self._change(
            """INSERT INTO effects (run, key, kind, status, digest, attempt, output, usage, cost, detail, started_at,
            ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, key) DO UPDATE SET
            kind = excluded.kind, status = excluded.status, digest = excluded.digest, attempt = excluded.attempt,
            output = excluded.output, usage = excluded.usage, cost = excluded.cost, detail = excluded.detail,
            started_at = excluded.started_at, ended_at = excluded.ended_at""",
            [(self.run_id, row.key, *values, row.started_at, row.ended_at)],
        )

    async def write(self, row):
        self.note(row)

    async def begin(self, row):
        self.note(row)

    def get(self, name):
        found = self._shelf.ask("SELECT value FROM facts WHERE run = ? AND name = ?", self.run_id, name)
        return json.loads(found[0][0]) if found else None

    def put(self, **facts):
        texts = [(self.run_id, name, json_text(self.redactor.json(value))) for name, value in facts.items()]
        self._change("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", texts)

    async def store(self, **facts):
        self.put(**facts)

    def _change(self, statement, rows):
        if self._held is None:
            raise RunRecordError(f"this process does not hold the run {self.run_id}", fix="open it to continue it")
        count = ("UPDATE runs SET changes = changes + 1 WHERE id = ?", (self.run_id,))
        self._shelf.write(*((statement, values) for values in rows), count)

    def tolerant(self):
        reader = copy.copy(self)
        reader._is_tolerant = True
        return reader

    def is_held(self):
        return self._held is not None or self._shelf.is_held(self.run_id)

    def on_stop(self, stop):
        """Do nothing: `stop` of this store sends a signal."""

    def close(self):
        if self._held is not None:
            os.close(self._held)
            self._held = None
        self._shelf.close()


class ShelfStore:
    """All runs of one file: see `RunStore`."""

    def __init__(self, place, file):
        self.place, self._file = place, file
        self._shelf = Shelf(place, file)

    def find(self, name):
        known = [run_id for (run_id,) in self._shelf.ask("SELECT id FROM runs")]
        return named_run(
            name, known, self.place, lambda: [run.id for run in self.runs()[0] if not ROW.search(run.id)][:1]
        )

    def runs(self):
        runs, problems = [], []
        for (run_id,) in self._shelf.ask("SELECT id FROM runs"):
            try:
                runs.append(self.read(run_id))
            except RunRecordError as error:
                problems.append(error.message)
        return sorted(runs, key=lambda run: (run.started_at, run.id), reverse=True), problems

    def with_status(self, *statuses):
        wanted = {json_text(status) for status in statuses}
        found = self._shelf.ask("SELECT run, value FROM facts WHERE name = 'status'")
        return [run_id for run_id, status in found if status in wanted]

    def read(self, run_id):
        self._require(run_id)
        found = self._shelf.ask("SELECT name, value FROM facts WHERE run = ?", run_id)
        facts = {name: json.loads(value) for name, value in found}
        record, status = self.place.record(run_id), facts.get("status")
        if status is None or facts.get("started_at") is None:
            raise RunRecordError(f"{record} has not begun", fix=f"remove it: strands runs delete {run_id}")
        if status == "running" and not self._shelf.is_held(run_id):
            status = "interrupted"
        texts = (str(facts.get(name) or "") for name in ("workflow", "pattern", "file"))
        ended = (facts.get(name) for name in ("ended_at", "reason", "worked_s"))
        return StoredRun(run_id, record, *texts, status, facts["started_at"], *ended)

    def _require(self, run_id):
        if not (found := self._shelf.ask("SELECT changes FROM runs WHERE id = ?", run_id)):
            raise RunRecordError(f"there is no run {run_id!r} in {self.place}", fix="see: strands runs list")
        return found[0][0]

    def create(self, run_id):
        held = self._hold(run_id)
        try:
            self._shelf.ask("INSERT INTO runs (id) VALUES (?)", run_id)
        except RunRecordError:
            os.close(held)
            raise
        return ShelfJournal(Shelf(self.place, self._file), run_id, held)

    def open(self, run_id, *, hold=True):
        self._require(run_id)
        return ShelfJournal(Shelf(self.place, self._file), run_id, self._hold(run_id) if hold else None)

    def _hold(self, run_id, waits_s=0.0):
        held = self._shelf.lock(run_id, waits_s=waits_s)
        if held is None:
            raise RunRecordError(f"another process works on the run {run_id}", fix="wait, or stop it")
        return held

    def stop(self, run_id, wait_s):
        with contextlib.closing(self.open(run_id, hold=False)) as journal:
            if journal.is_held():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(journal.get("pid"), signal.SIGTERM)
        os.close(self._hold(run_id, wait_s))

    def delete(self, run_id):
        self._require(run_id)
        held = self._hold(run_id)
        tables = (("effects", "run"), ("facts", "run"), ("runs", "id"))
        self._shelf.write(*((f"DELETE FROM {table} WHERE {column} = ?", (run_id,)) for table, column in tables))
        os.close(held)

    def state(self, run_id=None):
        if run_id is not None:
            return self._require(run_id), self._shelf.is_held(run_id)
        return [(run.id, run.status, run.ended_at) for run in self.runs()[0]]

    def wait(self, seen, run_id=None, *, wait_s):
        end = time.monotonic() + wait_s
        while (now := self.state(run_id)) == seen and time.monotonic() < end:
            time.sleep(LOOK_S)
        return now

    def close(self):
        self._shelf.close()


class ShelfOpener:
    """What the entry point names: see `StoreOpener`."""

    def open(self, place, address):
        return ShelfStore(place, Path(address.partition("://")[2]))

    def init(self, place, address):
        with contextlib.closing(sqlite3.connect(address.partition("://")[2])) as connection:
            connection.executescript(f"PRAGMA journal_mode = WAL; {TABLES}")
        return [f"{place} has its tables"]

    def check(self, place, address):
        with contextlib.closing(self.open(place, address)) as store:
            return [f"runs: {len(store.runs()[0])}"]

    def migrate(self, place, address):
        return []


store = ShelfOpener()
