"""The measures that a worker takes; these take none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.api import Event
    from strands_cli_workers.queue_values import QueueState


class Measures:
    """Takes what happens at a worker. This one measures nothing: nothing is named that metrics could be sent to.

    Attributes:
        is_on: Whether it measures, so that what is only measured need not be looked for.
    """

    is_on = False

    def take(self, event: Event) -> None:
        """Count what an event of a run tells."""

    def finish(self, status: str, seconds: float) -> None:
        """Count the end of the work on a run."""

    def see(self, queues: Iterable[QueueState], runs: Mapping[str, int]) -> None:
        """Take the numbers of the store's queues, and of its runs by status."""


UNMEASURED = Measures()
