"""The shared parts of stores and journals of one address in a process: connections to read, and one that holds runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from strands_cli.api import StorePlace
from strands_cli_postgres.address import Target
from strands_cli_postgres.connections import Readers, connected
from strands_cli_postgres.schema import require_format
from strands_cli_postgres.session import Session

_lock = threading.Lock()
_open: dict[tuple[Target, int], Database] = {}


class Database:
    """A store as this process uses it; its connections are closed when none of its stores and journals is open.

    Attributes:
        place: The store that was opened first.
    """

    def __init__(self, place: StorePlace, target: Target) -> None:
        self.place, self.target = place, target
        self.schema = target.schema
        self._readers = Readers(place, target)
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._users = 0

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, in which `{schema}` is the name of the schema.

        Raises:
            RunRecordError: The store cannot be reached or refuses.
        """
        return self._readers.query(statement.replace("{schema}", self.schema), parameters)

    def session(self) -> Session:
        """Return the session that holds runs; a new one where the connection of the last one was lost.

        Raises:
            RunRecordError: The store cannot be reached.
        """
        with self._lock:
            if self._session is None or self._session.error is not None:
                self._session = Session(self.place, self.target)
            return self._session

    def use(self) -> Database:
        """Keep it open until a matching `release`."""
        with _lock:
            self._users += 1
        return self

    def release(self) -> None:
        """Close the connections where nothing else uses them."""
        with _lock:
            self._users -= 1
            if self._users:
                return
            _open.pop((self.target, os.getpid()), None)
        self._readers.close()
        if self._session is not None:
            self._session.close()


def shared_database(place: StorePlace, target: Target) -> Database:
    """Return the database of a target, in use; the first one checks that it is a store of this version.

    Raises:
        RunRecordError: It cannot be reached, was not initialised, or belongs to another program or version.
    """
    key = (target, os.getpid())
    with _lock:
        database = _open.get(key)
        if database is not None:
            database._users += 1
            return database
    with connected(place, target) as connection:
        require_format(connection, place, target.schema)
    with _lock:
        database = _open.setdefault(key, Database(place, target))
        database._users += 1
        return database


def once(release: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls another one the first time only."""
    lock, called = threading.Lock(), False

    def release_once() -> None:
        nonlocal called
        with lock:
            if called:
                return
            called = True
        release()

    return release_once
