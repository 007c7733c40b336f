"""The measures that a worker takes; these take none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.api import Event
    from strands_cli_workers.queue_values import QueueState


class Measures:
    """Takes the events of a worker. This one measures nothing: no destination of metrics is named.

    Attributes:
        is_on: Whether it measures, so that values for metrics alone need not be looked for.
    """

    is_on = False

    def take(self, event: Event) -> None:
        """Count an event of a run."""

    def finish(self, status: str, seconds: float) -> None:
        """Count the end of the work on a run."""

    def see(self, queues: Iterable[QueueState], runs: Mapping[str, int]) -> None:
        """Take the numbers of the store's queues, and of its runs by status."""


UNMEASURED = Measures()
