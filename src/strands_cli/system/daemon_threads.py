"""The executor of synchronous tools; its threads do not delay the end of the process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

# The slot of the thread that runs, in an attribute `slots`.
_HELD = threading.local()


@contextlib.contextmanager
def waiting() -> Iterator[None]:
    """Release the slot of this thread while it waits for work that needs threads itself."""
    slots = getattr(_HELD, "slots", None)
    if slots is None:
        yield
        return
    slots.release()
    try:
        yield
    finally:
        slots.acquire()


class DaemonThreads(ThreadPoolExecutor):
    """An executor of daemon threads: a tool that hangs delays neither the run nor the exit."""

    def __init__(self, limit: int = 64) -> None:
        super().__init__(max_workers=1)
        self._slots = threading.BoundedSemaphore(limit)

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start the work in a thread of its own."""
        future: Future[Any] = Future()

        def call() -> None:
            with self._slots:
                _HELD.slots = self._slots
                if not future.set_running_or_notify_cancel():
                    return
                try:
                    future.set_result(work(*args, **kwargs))
                except StopIteration as error:  # a future of asyncio cannot hold it: the caller would never resume
                    future.set_exception(RuntimeError(f"StopIteration: {error}"))
                except BaseException as error:  # noqa: BLE001 - the caller gets it
                    future.set_exception(error)

        threading.Thread(target=call, daemon=True, name="strands-tool").start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing: the threads are daemons."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
