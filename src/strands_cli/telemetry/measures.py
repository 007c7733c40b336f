"""What can be measured of a worker; without a destination of metrics nothing is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from strands_cli.events import Event


class QueueNumbers(Protocol):
    """What is measured of a queue; see `strands_cli.queues.queue_port.QueueState`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def waiting(self) -> int:
        """Runs that a worker may take now."""

    @property
    def running(self) -> int:
        """Runs that workers have taken."""

    @property
    def delayed(self) -> int:
        """Runs that wait for their time."""

    @property
    def oldest_s(self) -> float | None:
        """The age of the oldest that waits."""


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

    def see(self, queues: Iterable[QueueNumbers], runs: Mapping[str, int]) -> None:
        """Take the numbers of the store's queues, and of its runs by status."""


UNMEASURED = Measures()
