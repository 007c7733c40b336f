"""How far a batch is, as one line: in place at a terminal, now and then in a pipe."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from strands_cli.api import counted, duration

if TYPE_CHECKING:
    from strands_cli_batch.batch_journal import BatchRow
    from strands_cli_batch.batch_tally import BatchTally

# In a pipe, a line comes with each tenth of the rows, not more often than after some seconds, and then at the latest.
STEPS, SHORTEST_S, LONGEST_S = 10, 2.0, 60.0


class BatchProgress:
    """Makes the lines about a batch from its tally.

    Args:
        batch: The id of the batch.
        tally: Its tally, which changes meanwhile.
        clock: Returns seconds that never jump back.
    """

    def __init__(self, batch: str, tally: BatchTally, clock: Callable[[], float] = time.monotonic) -> None:
        self._batch, self._tally, self._clock = batch, tally, clock
        self._began = self._last = clock()
        self._step = 0

    def drawn(self) -> str:
        """Return the line drawn in place; empty where the rows are not known yet."""
        return f"{self._batch}: {self.text()}" if self._tally.total else ""

    def due(self) -> str | None:
        """Return the line after a row has ended, if it is time for one."""
        tally, now = self._tally, self._clock()
        ended = tally.total - tally.left
        step = STEPS * ended // max(1, tally.total)
        if now - self._last < (SHORTEST_S if step > self._step else LONGEST_S):
            return None
        self._step, self._last = step, now
        return self.text()

    def text(self) -> str:
        """Return how many rows are done, failed and waiting, the rate, the rest, and the cost so far."""
        tally, seconds = self._tally, self._clock() - self._began
        parts = [f"{tally.done} of {counted(tally.total, 'row')} done"]
        parts += [f"{tally.failed} failed"] if tally.failed else []
        parts += [f"{tally.waiting} wait"] if tally.waiting else []
        parts += [f"{counted(tally.running, 'run')} in progress"] if tally.running else []
        if tally.ended_here and seconds > 0:
            parts.append(f"{_plain(60 * tally.ended_here / seconds)} rows/min")
        left = tally.seconds_left(seconds)
        parts += [f"about {duration(left)} left"] if left is not None else []
        tokens, cost = tally.spent.usage.total_tokens, tally.spent.cost_usd
        parts += [f"{tokens} tokens"] if tokens else []
        parts += [f"${cost:.4f}"] if cost else []
        return ", ".join(parts)


def _plain(number: float) -> str:
    """Return a number with three digits that count, without an exponent: `5,130`, `12.5`, `0.0167`."""
    digits = max(0, 2 - math.floor(math.log10(abs(number)))) if number else 0
    text = f"{number:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def row_line(row: BatchRow) -> str:
    """Return the line of an ended row, for `--verbose`."""
    outcome = row.outcome
    if outcome is None:
        return f"  {row.run_id}"
    message = (outcome.error or {}).get("message")
    reason = f": {message}" if message and outcome.status != "completed" else ""
    return f"  {outcome.status} {row.run_id} {duration(outcome.seconds)}{reason}"
