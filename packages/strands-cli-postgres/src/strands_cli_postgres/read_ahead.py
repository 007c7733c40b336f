"""Reads more than was asked for: a run that continues asks for its rows one by one, and for its facts one by one."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from strands_cli_postgres.database import Database

# The most rows to read ahead by one query, and to keep.
MOST_AT_ONCE, MOST_KEPT = 128, 512
_KINDS = "SELECT key, kind FROM {schema}.effects WHERE run = %s"
_COLUMNS = (
    "key, kind, status, digest, attempt, output, output_digest, usage, cost, detail, started_at, ended_at, position"
)
_ROW_AND_NEXT = f"""
SELECT {_COLUMNS} FROM {{schema}}.effects
WHERE run = %s AND kind = %s AND position >= (SELECT position FROM {{schema}}.effects WHERE run = %s AND key = %s)
ORDER BY position LIMIT %s
"""  # noqa: S608 - constant text
_FACTS = "SELECT name, value FROM {schema}.facts WHERE run = %s"


class RowsAhead:
    """The rows of a run that this process holds: no other one writes them, so that read rows stay true."""

    def __init__(self, database: Database, number: int, *, is_new: bool) -> None:
        self._database, self._number = database, number
        self._lock = threading.Lock()
        self._kinds: dict[str, str] | None = {} if is_new else None  # of all keys
        self._ahead: dict[str, Sequence[Any]] = {}
        self._at_once: dict[str, int] = {}

    def columns(self, key: str) -> Sequence[Any] | None:
        """Return the columns of the row of a key, and read those after it of its kind.

        A key that the run does not have is known without a query.
        """
        with self._lock:
            if self._kinds is None:
                self._kinds = dict(self._database.query(_KINDS, (self._number,)))
            kind = self._kinds.get(key)
            if kind is None:
                return None
            if key not in self._ahead:
                self._read(key, kind)
            return self._ahead.pop(key, None)

    def has_none(self, kind: str | None, below: str) -> bool:
        """Return whether it is known, without a query, that there is no row of a kind below a key."""
        with self._lock:
            if self._kinds is None:
                return False
            start = f"{below}/" if below else ""
            return not any(key.startswith(start) and kind in (None, of) for key, of in self._kinds.items())

    def note(self, key: str, kind: str) -> None:
        """Take over that there is a row with this key, when it is committed."""
        with self._lock:
            if self._kinds is not None:
                self._kinds.setdefault(key, kind)

    def drop(self, key: str) -> None:
        """Forget the read columns of a committed row."""
        with self._lock:
            self._ahead.pop(key, None)

    def _read(self, key: str, kind: str) -> None:
        """Each time that more rows of a kind are asked for, the next part is twice as large."""
        at_once = self._at_once.get(kind, 1)
        self._at_once[kind] = min(2 * at_once, MOST_AT_ONCE)
        if len(self._ahead) + at_once > MOST_KEPT:
            self._ahead = {}
        rows = self._database.query(_ROW_AND_NEXT, (self._number, kind, self._number, key, at_once))
        self._ahead.update((columns[0], columns) for columns in rows)


class FactsAhead:
    """The facts of a run: one query reads all, since those who ask for one ask for others next.

    Attributes:
        is_held: Whether this process holds the run, so that read facts stay true. Otherwise each read fact is given
            once, and read again when it is asked for again.
    """

    def __init__(self, database: Database, number: int) -> None:
        self._database, self._number = database, number
        self._lock = threading.Lock()
        self._texts: dict[str, str] | None = None
        self._read_names: set[str] = set()
        self.is_held = False

    def text(self, name: str) -> str | None:
        """Return the JSON of a fact, or None where there is none."""
        with self._lock:
            if self._texts is None or (name in self._read_names and not self.is_held):
                self._texts, self._read_names = dict(self._database.query(_FACTS, (self._number,))), set()
            self._read_names.add(name)
            return self._texts.get(name)

    def note(self, texts: Mapping[str, str]) -> None:
        """Take over facts that this process has stored."""
        with self._lock:
            if self._texts is not None:
                self._texts.update(texts)
