"""How many runs one worker takes: DBOS stores one number for all workers of a queue, and ours each have their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dbos import DBOS
from dbos._sys_db import SystemDatabase
from strands_cli.errors import NotEquipped


class Claims:
    """Lets the queue threads of this process claim as many workflows as it has room for, over all queues together.

    A queue thread reads its queue before each claim. What it reads gets the number here, so that what is stored, which
    other workers read, stays as it is. DBOS has no public name for this.

    Attributes:
        room: How many workflows may run at once; 0 claims none.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._instance: Any = None
        self._restore: Callable[[], None] = lambda: None

    def bind(self, instance: DBOS) -> None:
        """Limit the claims of an instance, which is not launched yet.

        Raises:
            NotEquipped: This version of DBOS reads its queues in another way.
        """
        read = getattr(SystemDatabase, "get_queue", None)
        if read is None or not hasattr(getattr(instance, "_active_workflows_set", None), "count_for_queue"):
            raise NotEquipped("this version of dbos is not supported", fix="pip install 'dbos>=3.4,<3.5'")
        self._instance = instance

        @functools.wraps(read)
        def get_queue(system: Any, name: str, **more: Any) -> Any:
            queue = read(system, name, **more)
            if queue is not None and not more:
                queue._worker_concurrency = self._most(name)  # noqa: SLF001 - see above
            return queue

        SystemDatabase.get_queue = get_queue  # type: ignore[method-assign]
        self._restore = functools.partial(setattr, SystemDatabase, "get_queue", read)

    def release(self) -> None:
        """Let DBOS read its queues as it does by itself."""
        self._restore()

    def _most(self, queue: str) -> int:
        """Return what DBOS subtracts the running workflows of this queue from."""
        active = self._instance._active_workflows_set  # noqa: SLF001 - see above
        of_queue: int = active.count_for_queue(queue)
        return of_queue + max(0, self.room - len(active.activeList()))
