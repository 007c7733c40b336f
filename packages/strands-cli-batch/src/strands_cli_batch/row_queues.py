"""The queues in which rows wait for workers: those of the owner `workers` of runs, another distribution."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from strands_cli.api import run_owner

if TYPE_CHECKING:
    from strands_cli.api import Budget, PlannedRows, RunStore
    from strands_cli_batch.batch_run import RowEngine

Result = TypeVar("Result")


class RowQueues(Protocol):
    """The attribute `rows` of the owner of runs that workers continue."""

    def require_queue_name(self, name: str) -> None:
        """Check that a queue can have this name; raise `UsageError` otherwise."""

    def require_submittable(self, rows: PlannedRows) -> PlannedRows:
        """Return rows whose findings about the workers' own tools and keys are warnings.

        Raises:
            StrandsCliError: They cannot run anywhere, or their store has no queues.
        """

    def opened(
        self, rows: PlannedRows, store: RunStore, name: str, warn: Callable[[str], None], budget: Budget | None = None
    ) -> AbstractAsyncContextManager[RowEngine]:
        """Open the engine that submits rows to the queue with a name, and waits for them."""

    def reached(self, open_it: Callable[[], Result], limit_s: float, tell: Callable[[str], None]) -> Result:
        """Return the opened object, as soon as its store answers; raise `Unreachable` after so many seconds."""


def row_queues() -> RowQueues:
    """Return the queues of rows.

    Raises:
        NotEquipped: The distribution of the workers is not installed.
        Denied: Policy or the lock does not admit it.
    """
    owner: Any = run_owner("workers", "`--engine dbos`")
    queues: RowQueues = owner.rows
    return queues
