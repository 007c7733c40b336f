"""Owners of stored runs, which continue them in place of this process, such as the workers of a queue."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from strands_cli.default_parts import OURS, OWNERS, install_of
from strands_cli.engine.store_port import StoredJournal
from strands_cli.errors import HoldLost, NotEquipped, RunRecordError, UsageError
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Clock
    from strands_cli.engine.store_port import RunStore, StoredJournal
    from strands_cli.events import RunStatus


# Cancels a stored run for good.


STOP_S = 15.0


def cancel_run(store: RunStore, run_id: str, clock: Clock) -> None:
    """Stop the process of a run, if there is one, and record that the run is cancelled.

    Raises:
        UsageError: The run has ended.
        RunRecordError: Its process cannot be asked to end, or does not end.
    """
    with contextlib.closing(_stopped(store, run_id, clock)) as journal:
        _require_unended(run_id, journal.get("status"))  # it may have completed before it was asked to stop
        journal.put(status="cancelled", reason="a person cancelled it", ended_at=clock.now())


def _stopped(store: RunStore, run_id: str, clock: Clock) -> StoredJournal:
    """Return the journal of a run, held; a run that moves between workers is stopped wherever it is."""
    end = clock.monotonic() + STOP_S
    while True:
        status = store.read(run_id).status
        _require_unended(run_id, status)
        if status == "running":
            store.stop(run_id, STOP_S)
        try:
            return store.open(run_id)
        except RunRecordError:
            # A worker has taken it meanwhile, and has not begun or has just begun.
            if status not in ("queued", "running", "interrupted") or clock.monotonic() > end:
                raise
        store.stop(run_id, STOP_S)


def _require_unended(run_id: str, status: RunStatus) -> None:
    if status in ("completed", "cancelled"):
        raise UsageError(f"the run {run_id} is {status}", fix="there is nothing to cancel")


# Works on a run as long as its store lets this process hold it.


Result = TypeVar("Result")


async def while_held(journal: StoredJournal, work: Coroutine[Any, Any, Result]) -> Result:
    """Await work on a run; cancel it when its store asks for that, or when another process may have taken the run over.

    Raises:
        HoldLost: It was cancelled for that reason.
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    stop_asked = asyncio.Event()

    def stop() -> None:
        stop_asked.set()
        task.cancel()

    def ask() -> None:
        loop.call_soon_threadsafe(stop)

    journal.on_stop(ask)
    try:
        return await task
    except asyncio.CancelledError:
        if not stop_asked.is_set():
            raise
        raise await _reason(journal) from None


async def _reason(journal: StoredJournal) -> HoldLost:
    """Return why work on a run was stopped: a lost store refuses to store anything of it."""
    try:
        await journal.store()
    except RunRecordError as error:
        return HoldLost(error.message, fix=(error.fix or "").replace("resume RUN", f"resume {journal.run_id}"))
    show_command = shlex.join(["strands", "runs", "show", journal.run_id, *journal.place.words])
    hold_lost = HoldLost(
        f"a person has stopped the run {journal.run_id} elsewhere", fix=f"see what became of it: {show_command}"
    )
    hold_lost.is_asked = True
    return hold_lost


# The fact of a journal with the name of the owner.
BELONGS_TO = "belongs_to"
# Whatever the owner, nothing is left to continue; or the run is only the pattern of others.
_ENDED = ("completed", "cancelled", "scheduled")


class RunOwner(Protocol):
    """The object behind an entry point of the group `strands_cli.owners`: it continues the runs with its name.

    All methods raise `RunRecordError` where they cannot reach their store or service.
    """

    def wait_again(self, journal: StoredJournal, act: Callable[[], None]) -> str:
        """Let a held run go on with its owner, and close its journal; return a line that says so to a person.

        Args:
            act: Stores a person's decision; it is called when it is certain that the owner can be reached.
        """

    def leave(self, store: RunStore, run_id: str) -> None:
        """Take out a run that was cancelled."""

    def prepare(self, store: RunStore) -> list[str]:
        """Make or update the owner's tables in a store; return the actions, one line each, if anything."""

    def check(self, store: RunStore) -> list[str]:
        """Return the facts of the owner in a working store, one line each; nothing in a store of another kind."""


def owner_name(journal: StoredJournal) -> str | None:
    """Return the name of the owner that continues a run; None for a run without one, or an ended one."""
    name = journal.get(BELONGS_TO)
    return None if name is None or journal.get("status") in _ENDED else str(name)


def run_owner(name: str, user: str | None = None) -> RunOwner:
    """Return the owner of a name that a journal has.

    Args:
        name: Its name.
        user: The option that needs it, where no run does, for the message.

    Raises:
        NotEquipped: It is not installed, or cannot be imported.
        Denied: Two distributions claim the name, or policy or the lock does not admit it.
    """
    from strands_cli.parts.named_parts import imported_with_methods, part_named

    part = part_named(OWNERS, name)
    if part is None:
        distribution = OURS[OWNERS].get(name)
        install = install_of(distribution) if distribution is not None else "install the distribution that has it"
        if user is not None:
            raise NotEquipped(f"{user} comes with {distribution or name}", fix=install)
        message = printable(f"the run belongs to {name!r}, which is not installed here")
        raise NotEquipped(message, fix=f"{install}; or continue the run in this terminal: --here")
    return cast("RunOwner", imported_with_methods(part, RunOwner))


def installed_owners() -> Iterator[tuple[str, RunOwner]]:
    """Yield every installed owner, with its name.

    Raises:
        NotEquipped: One cannot be imported.
        Denied: As `run_owner`.
    """
    from strands_cli.parts.named_parts import parts_of

    for name in sorted({part.name for part in parts_of(OWNERS)}):
        yield name, run_owner(name)
