"""The options that name a store of runs, and opening the store that they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from strands_cli.cli.commands.command_options import RUNS_DIR, STORE
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.engine.store_port import RunStore
    from strands_cli.store_place import StorePlace


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Where the runs are that a command is about: each field is an option of it."""

    runs_dir: RUNS_DIR = None
    store: STORE = None

    @property
    def place(self) -> StorePlace:
        """The place that the options name, or the default one.

        Raises:
            UsageError: Both are given, or the address is not that of a store.
        """
        from strands_cli.planning.run_request import chosen_place

        return chosen_place(self.runs_dir, self.store)

    @contextmanager
    def opened(self) -> Iterator[RunStore]:
        """Open the store while the command works.

        Raises:
            UsageError: The options do not name a store.
            RunRecordError: The store cannot be reached or used.
        """
        from strands_cli.engine.stored_runs.opened_store import open_store

        with closing(open_store(self.place)) as store:
            yield store


# The store that no option names, as the default of such a parameter of a command.
DEFAULT_STORE = StoreOptions()
