"""The connections of the page: those without its cookie are few and short, so that they never keep its owner out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# The most connections without a sent cookie; of more, the oldest ends.
STRANGERS = 100
# So long may the head of a request take, from the connection or its first byte to its last one, in seconds.
HEAD_S = 5.0

Headers = Iterable[tuple[bytes, bytes]]


def guarded_protocol(is_known: Callable[[Headers], bool]) -> type[H11Protocol]:
    """Return the protocol of the connections of one page.

    Args:
        is_known: Tells from the headers of a request whether an admitted browser has sent it.
    """
    strangers: dict[GuardedProtocol, None] = {}

    class GuardedProtocol(H11Protocol):
        """One connection; it counts as the owner's from its first request with the cookie on."""

        def connection_made(self, transport: Any) -> None:
            """Take a place, which may be that of the oldest connection without the cookie."""
            super().connection_made(transport)
            self._deadline: asyncio.TimerHandle | None = None
            self._expect_head()
            strangers[self] = None
            if len(strangers) > STRANGERS:
                oldest = next(iter(strangers))
                del strangers[oldest]
                oldest.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            """Give the place back."""
            strangers.pop(self, None)
            self._end_wait()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Read on; without the head of a request in time the connection ends."""
            if self._deadline is None and self._is_between():
                self._expect_head()
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._end_wait()
                if self in strangers and is_known(self.headers):
                    del strangers[self]

        def _is_between(self) -> bool:
            """Return whether the next bytes are those of a new request."""
            return self.cycle is None or self.cycle.response_complete

        def _expect_head(self) -> None:
            self._deadline = self.loop.call_later(HEAD_S, self.transport.abort)

        def _end_wait(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return GuardedProtocol
