"""Values that the pages of one process share: the folder, the runs as they were read, the polls and the children."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.api import Runs, StorePlace
from strands_cli_ui.children.child_commands import Children
from strands_cli_ui.live.change_hub import ChangeHub

if TYPE_CHECKING:
    from starlette.responses import Response

    View = Callable[["Ui", Any], Response]


# How many runs are kept; the read parts of one of 2,000 rows take some megabytes.
MOST = 8
MOST_BODIES = 50


class KnownPages:
    """Keeps the pages of a few runs, each with the state of its journal when it was read.

    Args:
        most: How many.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._turns = itertools.count()
        self._kept: OrderedDict[str, tuple[object, int, Any]] = OrderedDict()
        self._making: dict[str, threading.Lock] = {}

    def get(self, name: str, state: object, make: Callable[[], Any]) -> Any:
        """Return a page in this state; of many who ask at once, one makes it.

        A page that was begun after a person has asked for it is new enough, whatever the state was when it was asked
        for: where a run changes all the time, each state is that of one reader.

        Args:
            state: It differs when the run has changed. It is taken before `make` reads the run.
        """
        asked = next(self._turns)
        with self._lock:
            making = self._making.setdefault(name, threading.Lock())
        with making:
            known_state, begun, page = self._kept.get(name, (None, -1, None))
            if known_state is None or (known_state != state and begun < asked):
                known_state, begun, page = state, next(self._turns), make()
            with self._lock:
                self._kept[name] = known_state, begun, page
                self._kept.move_to_end(name)
                while len(self._kept) > self._most:
                    self._making.pop(self._kept.popitem(last=False)[0], None)
        return page


def store_words(place: StorePlace) -> list[str]:
    """Return the option of a child's command line that names the store; its environment has an address."""
    return list(place.words) if place.directory is not None else []


@dataclass(frozen=True, slots=True)
class Ui:
    """The sources of every page.

    Attributes:
        folder: Where `strands ui` was started; its workflows are shown, and child processes work in it.
        place: Where the runs are stored.
        hub: Those who watch.
        children: The child processes.
        one_at_a_time: A lock for each run: two answers to its questions come one after the other.
        known_pages: The runs that were read lately.
        known_bodies: The pages of runs as HTML, for those who look at the same one.
        lines: The lines of the list of runs, each with the state of its run when it was read.
    """

    folder: Path
    place: StorePlace
    hub: ChangeHub
    children: Children
    one_at_a_time: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))
    known_pages: KnownPages = field(default_factory=KnownPages)
    known_bodies: KnownPages = field(default_factory=lambda: KnownPages(MOST_BODIES))
    lines: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def opened(self) -> Runs:
        """Open the runs for one page.

        Raises:
            RunRecordError: It cannot be reached or used.
        """
        return Runs(self.place)
