"""How many runs one worker takes: DBOS stores one number for all workers of a queue, and ours each have their own."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any

from dbos._sys_db import SystemDatabase

from strands_cli.errors import NotEquipped

# The method by which a queue thread claims workflows.
CLAIM = "start_queued_workflows"
# What was claimed and has not begun by then was moved on meanwhile, as a cancelled workflow is, and never begins.
BEGINS_S = 10.0


class Claims:
    """Lets the queue threads of this process claim as many workflows as it has room for, over all its queues together.

    Each claim of DBOS goes through here: it gets the room that is left, and while there is none it asks no database.
    DBOS has no public name for this, so its method is replaced as long as the worker works.

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
        self._original = getattr(SystemDatabase, CLAIM, None)
        if self._original is None:
            raise NotEquipped("this version of dbos is not supported", fix="pip install 'dbos>=3.4,<3.5'")
        original = self._original

        @functools.wraps(original)
        def start_queued_workflows(system: Any, queue: Any, *values: Any, **named: Any) -> Any:
            if queue.name not in self._queues:
                return original(system, queue, *values, **named)
            with self._lock:
                if (room := self._left()) <= 0:
                    return [], "worker_concurrency"
                # DBOS subtracts what runs of this queue, which is its fifth argument.
                queue._worker_concurrency = room + values[3]
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
        """Claim no more; a claim that is being made ends first."""
        with self._lock:
            self._room = 0

    def end(self) -> None:
        """Let DBOS claim as it does by itself."""
        if self._original is not None:
            setattr(SystemDatabase, CLAIM, self._original)

    def _left(self) -> int:
        begun = time.monotonic() - BEGINS_S
        for workflow_id in [one for one, at in self._claimed.items() if at < begun]:
            self._claimed.pop(workflow_id, None)
        return self._room - len(self._running) - len(self._claimed)
