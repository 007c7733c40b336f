"""The HTTP connections to providers: one client for each event loop, however many models and runs use it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from strands_cli.tools import tls_context_for


@dataclass(slots=True)
class _Shared:
    """A loop's HTTP client, and how many models use it."""

    client: Any
    users: int = 0


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shared] = WeakKeyDictionary()


class LoopClients:
    """The client that `OpenAIModel` is given: its own settings, over the connections that all models share.

    The SDK's class makes a client for each request. One cannot move between event loops, and the SDK opens loops of its
    own for synchronous calls, so this one stands for one client in each loop.
    """

    def __init__(self, client_class: Callable[..., Any], http_class: type, arguments: Any) -> None:
        self._make = client_class
        self._make_http = http_class
        self._arguments: Mapping[str, Any] = arguments
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    @property
    def chat(self) -> Any:
        """Return the running loop's `chat` interface, which is all that the SDK's class uses of a client."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            shared = _shared.setdefault(loop, _Shared(None))
            shared.client = shared.client or self._make_http(verify=tls_context_for(self._make_http))
            self._clients[loop] = self._make(**self._arguments, http_client=shared.client)
            shared.users += 1
        return self._clients[loop].chat

    async def aclose(self) -> None:
        """Give up the running loop's client; its connections are closed when no other model uses them."""
        loop = asyncio.get_running_loop()
        if self._clients.pop(loop, None) is None:
            return
        shared = _shared[loop]
        shared.users -= 1
        if not shared.users:
            await _shared.pop(loop).client.aclose()
