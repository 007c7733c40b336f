"""What stored runs may belong to: others than this process continue them, such as the workers of a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, cast

from strands_cli.default_parts import OURS, OWNERS, install_of
from strands_cli.errors import NotEquipped
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import RunStore, StoredJournal

# The fact of a journal that has the name of the owner.
BELONGS_TO = "belongs_to"
# Whatever the owner, nothing is left to continue; or the run is only the pattern of others.
_ENDED = ("completed", "cancelled", "scheduled")


class RunOwner(Protocol):
    """What an entry point of the group `strands_cli.owners` names: it continues the runs that have its name.

    All methods raise `RunRecordError` where they cannot reach what they need.
    """

    def wait_again(self, journal: StoredJournal, act: Callable[[], None]) -> str:
        """Let a held run go on with its owner, and close its journal; return a line that says so to a person.

        Args:
            act: Stores what a person has decided; it is called when it is certain that the owner can be reached.
        """

    def leave(self, store: RunStore, run_id: str) -> None:
        """Take out a run that was cancelled."""

    def prepare(self, store: RunStore) -> list[str]:
        """Make or update what the owner needs in a store; return what was done, one line each, if anything."""

    def check(self, store: RunStore) -> list[str]:
        """Return what the owner has in a store that works, one line each; nothing in a store of another kind."""


def owner_name(journal: StoredJournal) -> str | None:
    """Return the name of the owner that continues a run; None for a run without one, or one that has ended."""
    name = journal.get(BELONGS_TO)
    return None if name is None or journal.get("status") in _ENDED else str(name)


def run_owner(name: str, wanted: str | None = None) -> RunOwner:
    """Return the owner of a name that a journal has.

    Args:
        name: Its name.
        wanted: What needs it where no run does, such as an option, for the message.

    Raises:
        NotEquipped: It is not installed, or cannot be imported.
        Denied: Two distributions claim the name, or policy or the lock does not admit the one that has it.
    """
    from strands_cli.parts.named_parts import imported_with_methods, part_named

    part = part_named(OWNERS, name)
    if part is None:
        distribution = OURS[OWNERS].get(name)
        install = install_of(distribution) if distribution is not None else "install the distribution that has it"
        if wanted is not None:
            raise NotEquipped(f"{wanted} comes with {distribution or name}", fix=install)
        message = printable(f"the run belongs to {name!r}, which is not installed here")
        raise NotEquipped(message, fix=f"{install}; or continue the run in this terminal: --here")
    return cast("RunOwner", imported_with_methods(part, RunOwner))


def installed_owners() -> Iterator[tuple[str, RunOwner]]:
    """Yield every owner that is installed, with its name.

    Raises:
        NotEquipped: One cannot be imported.
        Denied: As `run_owner`.
    """
    from strands_cli.parts.named_parts import parts_of

    for name in sorted({part.name for part in parts_of(OWNERS)}):
        yield name, run_owner(name)
