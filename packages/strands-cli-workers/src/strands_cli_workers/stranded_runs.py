"""Runs that wait for a worker and have no ticket: a process died between the journal and the queue."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from strands_cli.api import RunRecordError, StrandsCliError, Takeover
from strands_cli_workers.queue_values import Ticket

if TYPE_CHECKING:
    from strands_cli.api import RunStore
    from strands_cli_workers.run_queue import RunQueue

MOST_KNOWN = 100_000
# How many open runs are looked at at once; the next look goes on behind them.
AT_ONCE = 5_000


class StrandedRuns:
    """Finds submitted runs that no ticket leads to, and gives them one.

    A run that was not submitted, such as one of a terminal that was killed, stays as it is.
    """

    def __init__(self, store: RunStore, queue: RunQueue) -> None:
        self._store, self._queue = store, queue
        self._not_submitted: OrderedDict[str, None] = OrderedDict()
        self._next = 0
        self._is_through = False  # whether the last look was at the last of them

    def find_any(self) -> list[str]:
        """As `find`, with further looks until a run is found, or all were looked at."""
        self._next = 0
        while not (run_ids := self.find()) and not self._is_through:
            pass
        return run_ids

    def find(self) -> list[str]:
        """Give each stranded run a ticket, and return them; for a thread.

        Raises:
            RunRecordError: The store cannot be reached.
        """
        unfinished = [run for run in self._store.with_status(*Takeover.GOES_ON) if run not in self._not_submitted]
        if self._next >= len(unfinished):
            self._next = 0
        looked_at = unfinished[self._next : self._next + AT_ONCE]
        lost_ids = set(looked_at) - self._queue.live(looked_at) if looked_at else set()
        run_ids = [run_id for run_id in sorted(lost_ids) if self._put(run_id)]
        # Those that were not submitted are left out next time, so that the next ones move up.
        self._is_through = self._next + len(looked_at) >= len(unfinished)
        self._next += sum(run_id not in self._not_submitted for run_id in looked_at)
        return run_ids

    def _put(self, run_id: str) -> bool:
        """Give one run a ticket, unless a process works on it; return whether it got one."""
        with contextlib.suppress(RunRecordError):
            with contextlib.closing(self._store.open(run_id, hold=False)) as journal:
                ticket = journal.get("ticket")
            if ticket is None:
                self._not_submitted[run_id] = None
                if len(self._not_submitted) > MOST_KNOWN:
                    self._not_submitted.popitem(last=False)
                return False
            # Held for a moment, so that no other worker does the same, and the run is not between two states.
            with contextlib.closing(self._store.open(run_id)) as journal:
                goes_on = journal.get("status") in Takeover.GOES_ON
                if not goes_on or ticket.get("schedule") or self._queue.live([run_id]):
                    return False
                with contextlib.suppress(StrandsCliError):
                    self._queue.put(Ticket.from_dict({**ticket, "run_id": run_id, "attempt": 0}))
                    return True
        return False
