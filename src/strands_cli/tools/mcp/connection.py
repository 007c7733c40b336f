"""The connection to one MCP server as the SDK's client opens it, in its own thread, and as the run may break it off."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio

from strands_cli.tools.mcp.repaired_messages import Changes, RepairedStream

# What a server may send in one message (stdio) or one response (HTTP).
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
# What is remembered of what a server says beside the protocol.
MAX_TAIL = 8 * 1024
SHOWN_LINES = 5
MAX_NOTES = 50
Streams = tuple[Any, Any]


class Link:
    """One connection, made by `reach` each time it is opened.

    Attributes:
        closed: Whether nothing more comes over it.
        is_over: Whether it has been closed on this side too, so that the thread of the client ends by itself.
        is_stale: Whether the server has forgotten the session.
        fault: What went wrong last, where the transport knows.
        changes: What the server has announced of its tools.
        notes: Notes about what the server sends: tools that are left out, characters that are replaced.
    """

    def __init__(self, reach: Callable[[Link], AbstractAsyncContextManager[Streams]]) -> None:
        self._reach = reach
        self.notes: dict[str, None] = {}
        self.changes = Changes()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scope: anyio.CancelScope | None = None
        self._is_given_up = False
        self._tail = bytearray()
        self.closed = False
        self.is_over = False
        self.is_stale = False
        self.fault: str | None = None

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Open it in the running loop, until the context ends or the connection is given up.

        Raises:
            ConnectionError: it was given up.
        """
        self._loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:
            self._scope = scope
            if self._is_given_up:
                scope.cancel()
            try:
                async with self._reach(self) as (incoming, outgoing):
                    yield RepairedStream(incoming, self.note, self.changes), outgoing
            finally:
                self.closed, self.is_over, self._scope = True, True, None
        if scope.cancelled_caught:
            raise ConnectionError("given up")

    def note(self, what: str) -> None:
        """Note what a person should know of what the server sends, once; a flood ends."""
        if len(self.notes) < MAX_NOTES:
            self.notes.setdefault(what)

    def give_up(self) -> None:
        """Break it off, from any thread: each pending request gets an error."""
        self._is_given_up = True
        loop, scope = self._loop, self._scope
        if loop is not None and scope is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                loop.call_soon_threadsafe(scope.cancel)

    def remember(self, output: bytes) -> None:
        """Keep the end of what the server says beside the protocol."""
        self._tail += output
        del self._tail[:-MAX_TAIL]

    @property
    def last_lines(self) -> list[str]:
        """The last lines of that."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        return [line for line in lines if line.strip()][-SHOWN_LINES:]
