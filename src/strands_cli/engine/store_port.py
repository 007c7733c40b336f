"""Where runs are stored: the port of stores and of the journals in them; SQLite folders and plugins implement it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from strands_cli.engine.journal.journal_rows import Journal, command_of, whole_of
from strands_cli.events import RunStatus

if TYPE_CHECKING:
    from strands_cli.errors import RunRecordError
    from strands_cli.secrets.redactor import Redactor
    from strands_cli.store_place import StorePlace


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run as its journal describes it; times are seconds since the epoch.

    Attributes:
        record: Where its journal is, for a person: a directory, or an address without a password.
        user: Who started it, as the machine names users; empty where that is not known.
        spent: What it had spent when it last ended, as its fact of this name has it; None where its rows tell.
    """

    id: str
    record: str
    workflow: str
    pattern: str
    file: str
    status: RunStatus
    started_at: float
    ended_at: float | None = None
    reason: str | None = None
    worked_s: float | None = None
    user: str = ""
    spent: Sequence[Sequence[object]] | None = None

    @property
    def command(self) -> str | None:
        """The command that continues it, if it consists of other runs as its parts."""
        return command_of(self.pattern)

    @property
    def whole(self) -> str | None:
        """The id of the run that it is a part of, if its own id is that of a part."""
        return whole_of(self.id)


class StoredJournal(Journal, Protocol):
    """The journal of one run in a store.

    Attributes:
        run_id: The id of the run.
        place: Its store.
        record: Where it is, for a person; see `StoredRun`.
        redactor: Hides secrets in every row and fact written from now on.
    """

    run_id: str
    place: StorePlace
    record: str
    redactor: Redactor

    def tolerant(self) -> StoredJournal:
        """Return it for those who only look: its rows have their readable parts, and `damage_of` tells the rest."""

    def is_held(self) -> bool:
        """Return whether a process works on the run now."""

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Have `stop` called, from any thread, when this process is asked to end the run or no longer holds it.

        It is called once at most. A store whose processes are asked by a signal never calls it.
        """


class RunStore(Protocol):
    """Where runs are: each has an id, a journal, and at most one process that holds it.

    All methods raise `RunRecordError` where the store cannot be reached or refuses.

    Attributes:
        place: Where the store is.
    """

    place: StorePlace

    def find(self, name: str) -> str:
        """Return the id of a run, by its id, the start of its id, or `last`.

        Raises:
            RunRecordError: No run has this name, or several have it.
        """

    def runs(self) -> tuple[list[StoredRun], list[str]]:
        """Return all runs, the newest first, and the problems of journals that cannot be read."""

    def runs_since(self, moment: float) -> list[StoredRun]:
        """Return the runs that have not ended, or did so after a moment, the newest first, with what they spent.

        One without this method lists all runs: call `stored_runs.many_journals.runs_since`.
        """

    def with_status(self, *statuses: RunStatus) -> list[str]:
        """Return the ids of the runs whose journals say one of these, whether a process holds them or not."""

    def read(self, run_id: str) -> StoredRun:
        """Return one run as its journal describes it now; one whose process is gone is `interrupted`."""

    def create(self, run_id: str) -> StoredJournal:
        """Make the empty journal of a new run and hold it.

        Raises:
            RunRecordError: There is a run with this id, or the store cannot be written.
        """

    def open(self, run_id: str, *, hold: bool = True) -> StoredJournal:
        """Open the journal of a run; with `hold=False` only to read, also while a process works on the run.

        With `hold` this process takes the run over, so that no other one can write to it from then on.

        Raises:
            RunRecordError: There is no such run, it is damaged, of another version, or another process holds it.
        """

    def journals(self, run_ids: Iterable[str]) -> Iterator[StoredJournal | RunRecordError]:
        """Yield the journals of many runs to read them, in this order, as `open` does; or why one cannot be opened.

        A journal is to be closed before the next one is asked for, and may have the content of a moment ago: the runs
        after it may have been read with it. A store over a network asks once for many runs, of which it keeps a limited
        part in memory. One without this method is read run by run: call `stored_runs.many_journals.journals_of`.

        Raises:
            RunRecordError: The store cannot be reached or refuses.
        """

    def stop(self, run_id: str, wait_s: float) -> None:
        """Ask the process that holds a run to end it cleanly, and return when the run is no longer held.

        Raises:
            RunRecordError: The process cannot be asked, or still holds the run after `wait_s` seconds.
        """

    def delete(self, run_id: str) -> None:
        """Remove a run with its journal, also where this cannot be read.

        Raises:
            RunRecordError: A process works on it.
        """

    def state(self, run_id: str | None = None) -> object:
        """Return a value that differs when the run, or without an id the list of runs, has changed.

        It compares by `==`, and is cheap: it is asked for again and again by those who follow a run.

        Raises:
            RunRecordError: The run does not exist (any more).
        """

    def wait(self, seen: object, run_id: str | None = None, *, wait_s: float) -> object:
        """Return the state when it is no longer `seen`, at the latest after `wait_s` seconds.

        Raises:
            RunRecordError: The run does not exist (any more).
        """

    def close(self) -> None:
        """Release the open files and connections of the store; open journals stay usable until they are closed."""


class StoreOpener(Protocol):
    """The object behind an entry point of the group `strands_cli.stores`: its name is the scheme of its addresses.

    `address` is the whole address, references to secrets resolved: it must not appear in any message. Messages have
    `str(place)`.
    """

    def open(self, place: StorePlace, address: str) -> RunStore:
        """Open the store; nothing is created or changed.

        Raises:
            RunRecordError: It cannot be reached, was not initialised, or belongs to another program or version.
            NotEquipped: A module that it needs is not installed.
        """

    def init(self, place: StorePlace, address: str) -> list[str]:
        """Create the store's tables and files, and return the actions, one line each; a second call changes nothing."""

    def check(self, place: StorePlace, address: str) -> list[str]:
        """Return the facts of a store that works, one line each; raise as `open` where it does not.

        A line is `NAME: TEXT`. A problem that keeps nothing from working yet is `warning: NAME: TEXT; fix: COMMAND`.
        """

    def migrate(self, place: StorePlace, address: str) -> list[str]:
        """Bring a store of an older version to this one, and return the actions, one line each."""
