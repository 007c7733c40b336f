"""How many runs one worker takes: DBOS stores one number for all workers of a queue, and ours each have their own."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import time
from collections.abc import Collection, Iterator
from importlib.metadata import version
from typing import Any

from dbos import Queue
from dbos._sys_db import SystemDatabase

from strands_cli.api import NotEquipped

# The method by which a queue thread claims workflows, and the parameters with which it was tested. One of them says how
# many of this process run; DBOS passes it by place and may pass it by name.
CLAIM = "start_queued_workflows"
PARAMETERS = ("self", "queue", "executor_id", "app_version", "queue_partition_key", "local_running_count")
RUNNING = "local_running_count"
# A claimed workflow that has not begun by then was moved on meanwhile, as a cancelled one is, and never begins.
BEGINS_S = 10.0


class Claims:
    """Lets the queue threads of this process claim as many workflows as it has room for, over all its queues together.

    Each claim of DBOS goes through here: it gets the free room, and while there is none it asks no database. DBOS has
    no public name for this, so its method is replaced as long as the worker works.

    Args:
        queues: The queues whose claims are limited; those of DBOS itself are not.
        room: How many workflows may run at once.
    """

    def __init__(self, queues: Collection[str], room: int) -> None:
        self._queues, self._room = frozenset(queues), room
        self._lock = threading.Lock()
        self._claimed: dict[str, float] = {}
        self._running: set[str] = set()
        self._original: Any = None

    def begin(self) -> None:
        """Limit claims from now on.

        Raises:
            NotEquipped: This version of DBOS claims in another way.
        """
        original = self._original = tested_claim()
        bind = inspect.signature(original).bind

        @functools.wraps(original)
        def start_queued_workflows(system: Any, queue: Any, *values: Any, **named: Any) -> Any:
            if queue.name not in self._queues:
                return original(system, queue, *values, **named)
            arguments = bind(system, queue, *values, **named).arguments
            with self._lock:
                if (room := self._left()) <= 0:
                    return [], "worker_concurrency"
                # DBOS subtracts the running workflows of this queue.
                queue._worker_concurrency = room + arguments.get(RUNNING, 0)
                claimed = original(system, queue, *values, **named)
                self._claimed.update(dict.fromkeys(claimed[0], time.monotonic()))
                return claimed

        setattr(SystemDatabase, CLAIM, start_queued_workflows)

    @contextlib.contextmanager
    def running(self, workflow_id: str) -> Iterator[None]:
        """Count a workflow that was claimed as one that runs, during the block."""
        self._claimed.pop(workflow_id, None)
        self._running.add(workflow_id)
        try:
            yield
        finally:
            self._running.discard(workflow_id)

    def pause(self) -> None:
        """Claim no more; a claim under way ends first."""
        with self._lock:
            self._room = 0

    def end(self) -> None:
        """Let DBOS claim as it does by itself."""
        if self._original is not None:
            setattr(SystemDatabase, CLAIM, self._original)

    def _left(self) -> int:
        begun = time.monotonic() - BEGINS_S
        for workflow_id in [claimed_id for claimed_id, at in self._claimed.items() if at < begun]:
            self._claimed.pop(workflow_id, None)
        return self._room - len(self._running) - len(self._claimed)


def tested_claim() -> Any:
    """Return DBOS's method that claims workflows.

    Raises:
        NotEquipped: This version of DBOS has another one than those that were tested, so that a worker might be alive
            and take nothing.
    """
    claim = getattr(SystemDatabase, CLAIM, None)
    parameters = () if claim is None else tuple(inspect.signature(claim).parameters)
    if parameters[: len(PARAMETERS)] != PARAMETERS or "_worker_concurrency" not in Queue.__init__.__code__.co_names:
        raise NotEquipped(
            f"dbos {version('dbos')} takes runs from queues in another way than the versions that were tested",
            fix="pip install 'dbos>=3.4,<3.5'",
        )
    return claim
