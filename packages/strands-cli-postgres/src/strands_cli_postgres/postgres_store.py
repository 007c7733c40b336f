"""The store of runs in one schema of a Postgres database."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from strands_cli.api import RunRecordError, StoredRun, named_run
from strands_cli_postgres.connections import lock_key
from strands_cli_postgres.database import Database, once
from strands_cli_postgres.held_runs import HELD_LOCKS, create_run, held_by_other, is_held, take_run, unknown_run
from strands_cli_postgres.postgres_journal import HeldJournal, PostgresJournal
from strands_cli_postgres.runs_ahead import RUNS_AT_ONCE, read_journals
from strands_cli_postgres.session import stop_channel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# How often is looked whether a run has changed, at first and at most; and how often a process is asked again to stop.
LOOK_S, MOST_LOOK_S, ASK_S = 0.05, 0.5, 1.0
# How many ids are compared with a name that no run has.
_MOST_NAMES = 5000
_LAST = "last"
_COLUMNS = """
    r.id, r.workflow, r.pattern, r.file, r.status, r.started_at, r.ended_at, r.reason,
    coalesce(r.worked_s, 0) + CASE WHEN r.session_started_at IS NULL THEN 0
        ELSE greatest(0, coalesce(r.latest_at, 0) - r.session_started_at) END,
    l.lock IS NOT NULL
"""
_FACT = "(SELECT f.value FROM {schema}.facts f WHERE f.run = r.number AND f.name = '%s')"
_TABLES = f"""
FROM {{schema}}.runs r LEFT JOIN ({HELD_LOCKS}) AS l ON l.lock = r.lock AND r.status = 'running'
"""
_LISTED = f"SELECT {_COLUMNS} {_TABLES}"
_SINCE = f"""
SELECT {_COLUMNS}, {_FACT % "user"}, {_FACT % "spent"} {_TABLES} WHERE r.ended_at IS NULL OR r.ended_at >= %s
"""
_NEWEST_FIRST = " ORDER BY r.started_at DESC NULLS LAST, r.id DESC"
# Without the rows of batches, also runs: no name means one of many.
_NEWEST_IDS = f"""
SELECT r.id FROM {{schema}}.runs r WHERE r.id !~ '-[0-9a-f]{{8}}[.][0-9a-f]{{16}}$'{_NEWEST_FIRST} LIMIT %s
"""  # noqa: S608 - constant text, as below
_DELETE = """
WITH free AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(%s) AS is_free)
DELETE FROM {schema}.runs r USING free WHERE r.id = %s AND free.is_free RETURNING 1
"""
# The changeable parts of a list: the runs, their fields, and which of those that run are held.
_STATE_OF_ALL = f"""
SELECT count(*), sum(r.listed), max(r.listed), array_agg(r.number ORDER BY r.number) FILTER (WHERE l.lock IS NOT NULL)
FROM {{schema}}.runs r LEFT JOIN ({HELD_LOCKS}) AS l ON l.lock = r.lock AND r.status = 'running'
"""  # noqa: S608
_STATE = f"""
SELECT r.changes, EXISTS (SELECT FROM ({HELD_LOCKS}) AS l WHERE l.lock = r.lock) FROM {{schema}}.runs r WHERE r.id = %s
"""  # noqa: S608
# The request is for the process that holds the run now: one that takes it over later has another fence.
_STOP = """
UPDATE {schema}.runs SET stop_fence = fence WHERE id = %s RETURNING pg_notify(%s, number || ' ' || fence)
"""


class PostgresStore:
    """See `RunStore`.

    Attributes:
        target: The database and the schema that it is in.
    """

    def __init__(self, database: Database) -> None:
        self.place, self.target = database.place, database.target
        self._database = database
        self._release = once(database.release)
        # The names of facts that readers of many runs ask for: the first runs tell the names for the others.
        self._names: set[str] = set()

    def find(self, name: str) -> str:
        """Return the id of a run, by its id, the start of its id, or `last`."""
        if name == _LAST:
            ids = self._query(_NEWEST_IDS, 1)
        else:
            # The id itself comes before those that it is the start of.
            ids = self._query(
                "SELECT id FROM {schema}.runs WHERE id = %s OR (id > %s AND id < %s) ORDER BY id LIMIT 2",
                *_range_of(name),
            )
        if ids and (len(ids) == 1 or ids[0][0] == name):
            return str(ids[0][0])
        run_id: str = named_run(name, self._similar_ids(name), self.place, list)
        return run_id

    def _similar_ids(self, name: str) -> list[str]:
        """Return the ids that begin with a name, and the newest of the others."""
        similar = self._query(
            "SELECT id FROM {schema}.runs WHERE id > %s AND id < %s LIMIT %s", *_range_of(name)[1:], _MOST_NAMES
        )
        newest = self._query(_NEWEST_IDS, _MOST_NAMES)
        return list(dict.fromkeys(run_id for (run_id,) in (*similar, *newest)))

    def runs(self) -> tuple[list[StoredRun], list[str]]:
        """Return all runs, the newest first, and the problems of journals without the facts of a run."""
        runs, problems = [], []
        for columns in self._query(_LISTED + _NEWEST_FIRST):
            try:
                runs.append(self._run_of(columns))
            except RunRecordError as error:
                problems.append(error.message)
        return runs, problems

    def runs_since(self, moment: float) -> list[StoredRun]:
        """Return the runs that have not ended, or did so after a moment, the newest first, with what they spent."""
        runs = []
        for *columns, user, spent in self._query(_SINCE + _NEWEST_FIRST, moment):
            with contextlib.suppress(RunRecordError, ValueError):  # one without the facts of a run spends nothing
                read = self._run_of(columns)
                facts = {"user": json.loads(user or '""'), "spent": json.loads(spent or "null")}
                runs.append(dataclasses.replace(read, **facts))
        return runs

    def with_status(self, *statuses: str) -> list[str]:
        """Return the ids of the runs whose journals say one of these."""
        ids = self._query("SELECT id FROM {schema}.runs WHERE status = ANY(%s) ORDER BY number", list(statuses))
        return [run_id for (run_id,) in ids]

    def read(self, run_id: str) -> StoredRun:
        """Return one run as its journal describes it now."""
        runs = self._query(_LISTED + " WHERE r.id = %s", run_id)
        if not runs:
            raise unknown_run(self._database, run_id)
        return self._run_of(runs[0])

    def _run_of(self, columns: Sequence[Any]) -> StoredRun:
        run_id, workflow, pattern, file, status, started_at, ended_at, reason, worked_s, is_worked_on = columns
        record = self.place.record(run_id)
        if status is None or started_at is None:
            raise RunRecordError(
                f"the journal in {record} has neither the status of the run nor its start",
                fix=f"the process died before it did anything; start a new run, and: strands runs delete {run_id}",
            )
        now = "interrupted" if status == "running" and not is_worked_on else status
        texts = (workflow or "", pattern or "", file or "")
        return StoredRun(run_id, record, *texts, cast("Any", now), started_at, ended_at, reason, worked_s)

    def create(self, run_id: str) -> HeldJournal:
        """Make the empty journal of a new run and hold it."""
        return HeldJournal(self._database, run_id, create_run(self._database, run_id))

    def open(self, run_id: str, *, hold: bool = True) -> PostgresJournal:
        """Open the journal of a run; with `hold` this process takes it over."""
        if hold:
            return HeldJournal(self._database, run_id, take_run(self._database, run_id))
        numbers = self._query("SELECT number FROM {schema}.runs WHERE id = %s", run_id)
        if not numbers:
            raise unknown_run(self._database, run_id)
        return PostgresJournal(self._database, run_id, numbers[0][0])

    def journals(self, run_ids: Iterable[str]) -> Iterator[PostgresJournal | RunRecordError]:
        """Yield the journals of many runs to read them, or why one cannot be opened."""
        ids = iter(run_ids)
        while part := list(islice(ids, RUNS_AT_ONCE)):
            yield from read_journals(self._database, part, self._names)

    def stop(self, run_id: str, wait_s: float) -> None:
        """Ask the process that holds a run to end it, and return when the run is not held any more."""
        end, asked_at = time.monotonic() + wait_s, -ASK_S
        while is_held(self._database, run_id):
            now = time.monotonic()
            if now > end:
                raise held_by_other(self._database, run_id)
            if now - asked_at >= ASK_S:
                # Again, for a process with the lock that did not hear yet.
                self._query(_STOP, run_id, stop_channel(self._database.schema))
                asked_at = now
            time.sleep(LOOK_S)

    def delete(self, run_id: str) -> None:
        """Remove a run with all that it wrote."""
        if not self._query(_DELETE, lock_key(self._database.schema, run_id), run_id):
            raise held_by_other(self._database, run_id)

    def state(self, run_id: str | None = None) -> object:
        """Return a value that differs when the run, or the list of runs, has changed."""
        if run_id is None:
            return self._query(_STATE_OF_ALL)[0]
        states = self._query(_STATE, run_id)
        if not states:
            raise unknown_run(self._database, run_id)
        return states[0]

    def wait(self, seen: object, run_id: str | None = None, *, wait_s: float) -> object:
        """Return the state when it is no longer `seen`, at the latest after `wait_s` seconds."""
        end, pause = time.monotonic() + wait_s, LOOK_S
        while (now := self.state(run_id)) == seen and (left := end - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            pause = min(2 * pause, MOST_LOOK_S)
        return now

    def close(self) -> None:
        """Close the connections that no open journal uses."""
        self._release()

    def _query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._database.query(statement, parameters)


def _range_of(name: str) -> tuple[str, str, str]:
    """Return an id, and the range of those that begin with it."""
    return name, name, name + "\U0010ffff"
