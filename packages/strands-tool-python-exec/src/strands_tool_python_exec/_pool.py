"""Sandboxes started ahead of the calls: locked, waiting, each used once."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import threading
from collections.abc import Iterator

from strands_tool_python_exec._sandbox import Sandbox, Settings

# A spare is started when a call is over: at once it would compete with the caller, which has the answer now, and
# would be in vain where the run ends with this call.
_PAUSE = 0.02
_MAX_START = 30.0
_MAX_END = 1.0
_MAX_SPARES = 2


class Pool:
    """At most two sandboxes that wait.

    They are started by one thread: the kernel kills a sandbox when the thread that started it ends, and a call's thread
    ends with the call. So the thread continues until the pool is closed and none of its sandboxes is in use.
    """

    def __init__(self) -> None:
        self._forget()
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._let_go)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._closing = threading.Event()
        self._ending = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._calls = 0
        self._orders: queue.SimpleQueue[tuple[Settings, int] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._spares: list[Sandbox] = []
        self._in_use = 0
        self._size = 1
        # Counts closings: a spare requested before one is not started after it.
        self._epoch = 0

    @contextlib.contextmanager
    def lend(self, settings: Settings) -> Iterator[Sandbox | None]:
        """Lend a sandbox that waits, to be used up, or None; have another one started afterwards."""
        epoch = self._epoch
        with self._lock:
            self._calls += 1
            self._idle.clear()
        sandbox = self._take(settings)
        try:
            yield sandbox
        finally:
            with self._lock:
                self._in_use -= sandbox is not None
                self._calls -= 1
                if self._calls == 0:
                    self._idle.set()
            self._refill(settings, epoch)

    @property
    def spares(self) -> tuple[Sandbox, ...]:
        """The sandboxes that wait."""
        return tuple(self._spares)

    @property
    def in_use(self) -> int:
        """How many sandboxes of the pool run code now."""
        return self._in_use

    @property
    def is_asked(self) -> bool:
        """Whether a sandbox is asked for that no thread starts yet."""
        return not self._orders.empty()

    def start(self, settings: Settings) -> None:
        """Start a sandbox in this thread, unless enough of them wait."""
        self._add(settings, self._epoch)

    @property
    def is_ending(self) -> bool:
        """Whether the process is about to end, and every call with it."""
        return self._ending.is_set()

    def _end(self) -> None:
        """At the end of the process, let calls in abandoned threads remove their files."""
        self._ending.set()
        self._idle.wait(_MAX_END)
        self.close()

    def _take(self, settings: Settings) -> Sandbox | None:
        with self._lock:
            fitting = [spare for spare in self._spares if spare.settings == settings]
            if not fitting:
                # Two calls at once, or one soon after the other: from now on two wait.
                self._size = _MAX_SPARES if self._thread is not None and not self._spares else self._size
                return None
            self._spares.remove(fitting[0])
            self._in_use += 1
        if fitting[0].is_waiting():
            return fitting[0]
        fitting[0].discard()
        with self._lock:
            self._in_use -= 1
        return self._take(settings)

    def _refill(self, settings: Settings, epoch: int) -> None:
        with self._lock:
            if epoch != self._epoch:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._serve, name="python-exec-spares", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no more threads to be had, or the program is ending: the call is over, and well
                    return
                self._thread = thread
            self._orders.put((settings, epoch))

    def close(self) -> None:
        """End the sandboxes that wait; the next call starts afresh."""
        with self._lock:
            self._epoch += 1
            ending = self._thread if self._in_use == 0 else None
            if ending is not None:
                self._orders.put(None)
                self._thread = None
        self._closing.set()
        with self._starting, self._lock:
            spares, self._spares, self._size = self._spares, [], 1
        for spare in spares:
            spare.discard()
        if ending is not None:
            ending.join()
        self._closing.clear()

    def _serve(self) -> None:
        while (settings := self._orders.get()) is not None:
            if not self._closing.wait(_PAUSE):
                while self._add(*settings):
                    pass

    def _add(self, settings: Settings, epoch: int) -> bool:
        """Start one spare; return whether another is wanted."""
        with self._starting:
            with self._lock:
                others = [spare for spare in self._spares if spare.settings != settings]
                missing = self._size - (len(self._spares) - len(others)) if epoch == self._epoch else 0
                if missing > 0 and others and len(self._spares) == _MAX_SPARES:
                    self._spares.remove(others[0])
                    others[0].discard()
            spare = _started(settings) if missing > 0 else None
            if spare is None:
                return False
            with self._lock:
                self._spares.append(spare)
            return missing > 1

    def _let_go(self) -> None:
        """In a forked process: the sandboxes are the parent's, and the thread is not there."""
        spares = self._spares
        self._forget()
        for spare in spares:
            spare.forget()


def _started(settings: Settings) -> Sandbox | None:
    """Return a sandbox once it waits; None where none can be had now, which a call will find out for itself."""
    try:
        sandbox = Sandbox.start(settings)
    except OSError:
        return None
    try:
        sandbox.channel.settimeout(_MAX_START)
        sandbox.read_first()
    except (OSError, ValueError):
        sandbox.layers = None
    if sandbox.is_waiting():
        return sandbox
    sandbox.discard()
    return None


# The pool of this process.
POOL = Pool()
