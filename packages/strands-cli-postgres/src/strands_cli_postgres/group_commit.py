"""The waiting writes of runs: the entries of one commit, stored together, and answered one by one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.api import RunRecordError
from strands_cli_postgres.commit import RunChanges, parameters_of

if TYPE_CHECKING:
    import psycopg


class HeldRun(Protocol):
    """A run that this process holds."""

    number: int
    fence: int
    run_id: str

    def ask_to_stop(self) -> None:
        """End the work on the run; it may be called more than once, from any thread."""

    def lose(self, error: RunRecordError, *, is_held: bool = False) -> None:
        """Refuse every later write with this error, and end the work unless the run `is_held` all the same."""


@dataclass(slots=True)
class Entry:
    """Something that a run writes.

    Attributes:
        add: Adds it to the changes of the run; None where only the commit of earlier entries is awaited.
        size: How many characters it has.
        done: The waiter for the commit: a future of an event loop, or of a thread.
        committed: Called when it is committed.
    """

    run: HeldRun
    add: Callable[[RunChanges], None] | None
    size: int = 0
    done: asyncio.Future[None] | Future[None] | None = None
    committed: Callable[[], None] | None = None


class OtherBackend(Exception):
    """Another process of the server has served the connection: the one with its locks is unknown."""


def store_entries(
    connection: psycopg.Connection[Any], statement: str, entries: Iterable[Entry], backend: int
) -> dict[int, bool]:
    """Commit the changes of the entries; return the runs that are still held, each with whether it is asked to stop.

    Args:
        connection: The one with the locks of the runs.
        statement: That of `commit_statement`.
        entries: The writes of the runs.
        backend: The process of the server with the locks.

    Raises:
        psycopg.Error: Nothing is committed.
        OtherBackend: All is committed, and no run is held any more.
    """
    changes: dict[int, RunChanges] = {}
    awaited: dict[int, bool] = {}
    for entry in entries:
        awaited[entry.run.number] = False
        if entry.add is not None:
            entry.add(changes.setdefault(entry.run.number, RunChanges(entry.run.fence)))
    if not changes:
        return awaited
    stored = connection.execute(statement, parameters_of(changes), prepare=True).fetchall()
    if any(serving != backend for _, _, serving in stored):
        raise OtherBackend("a pooler has given the connection to another process of the server")
    written = {run: is_asked for run, is_asked, _ in stored}
    return {**{run: False for run in awaited if run not in changes}, **written}


def by_run(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the entries of each run, in their order."""
    groups: dict[int, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.run.number, []).append(entry)
    return list(groups.values())


def answer(entries: Iterable[Entry], errors: Mapping[int, RunRecordError]) -> None:
    """Wake the waiters for the entries; those of a run with an error get it."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[None], RunRecordError | None]]] = {}
    for entry in entries:
        error = errors.get(entry.run.number)
        if error is None and entry.committed is not None:
            entry.committed()
        if isinstance(entry.done, asyncio.Future):
            loops.setdefault(entry.done.get_loop(), []).append((entry.done, error))
        elif entry.done is not None:
            _settle(entry.done, error)
    for loop, waiting in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits any more
            loop.call_soon_threadsafe(_settle_all, waiting)


def _settle_all(waiting: Iterable[tuple[asyncio.Future[None], RunRecordError | None]]) -> None:
    for future, error in waiting:
        _settle(future, error)


def _settle(future: asyncio.Future[None] | Future[None], error: RunRecordError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
