"""Look up the addresses of a host name without blocking the event loop or the end of the process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

Resolver = Callable[[str, int], Awaitable[list[str]]]


async def look_up(host: str, port: int) -> list[str]:
    """Return all addresses of a name, as text, in the order of the system's resolver.

    The lookup runs in a daemon thread of its own: it cannot be stopped, and neither the event loop nor the end of the
    process should wait for it.

    Raises:
        OSError: The name has no address, or the resolver failed.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def settle(addresses: list[str], error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(addresses)

    def work() -> None:
        outcome: tuple[list[str], Exception | None]
        try:
            addresses: list[Any] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            outcome = list(dict.fromkeys(str(entry[4][0]) for entry in addresses)), None
        except (OSError, UnicodeError) as error:
            outcome = [], OSError(str(error))
        try:
            loop.call_soon_threadsafe(settle, *outcome)
        except RuntimeError:
            return  # The loop is closed, so no task waits for the answer.

    threading.Thread(target=work, name=f"resolve {host}", daemon=True).start()
    return await future
