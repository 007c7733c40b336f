"""What was read of runs for their pages: many who look at one run are shown what was read once, until it changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

# How many runs are kept; what is read of one of 2,000 rows takes some megabytes.
MOST = 8


class KnownPages:
    """Keeps what was made of the journals of a few runs, with the state of each journal then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[object, Any]] = OrderedDict()
        self._making: dict[str, threading.Lock] = {}

    def get(self, run: str, state: object, make: Callable[[], Any]) -> Any:
        """Return what `make` returned for a run in this state; of many who ask at once, one makes it.

        Args:
            state: It differs when the run has changed, and is older than what `make` reads.
        """
        with self._lock:
            making = self._making.setdefault(run, threading.Lock())
        with making:
            with self._lock:
                known, page = self._kept.get(run, (None, None))
            if known is None or known != state:
                page = make()
            with self._lock:
                self._kept[run] = state, page
                self._kept.move_to_end(run)
                while len(self._kept) > MOST:
                    self._making.pop(self._kept.popitem(last=False)[0], None)
        return page
