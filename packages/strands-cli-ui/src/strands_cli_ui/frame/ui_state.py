"""What the pages of one process share: the folder, the runs, those who watch, and the children."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.api import Runs, StorePlace
from strands_cli_ui.children.child_commands import Children
from strands_cli_ui.frame.known_pages import KnownPages
from strands_cli_ui.live.change_hub import ChangeHub

if TYPE_CHECKING:
    from starlette.responses import Response

    View = Callable[["Ui", Any], Response]


def store_words(place: StorePlace) -> list[str]:
    """Return the option of a child's command line that names the store; its environment has an address."""
    return list(place.words) if place.directory is not None else []


@dataclass(frozen=True, slots=True)
class Ui:
    """What every page is made from.

    Attributes:
        folder: Where `strands ui` was started; its workflows are shown, and child processes work in it.
        place: Where the runs are stored.
        hub: Those who watch.
        children: The child processes.
        one_at_a_time: A lock for each run: two answers to its questions come one after the other.
        known: What was read of runs that are looked at.
    """

    folder: Path
    place: StorePlace
    hub: ChangeHub
    children: Children
    one_at_a_time: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))
    known: KnownPages = field(default_factory=KnownPages)

    def opened(self) -> Runs:
        """Open the runs for one page.

        Raises:
            RunRecordError: It cannot be reached or used.
        """
        return Runs(self.place)
