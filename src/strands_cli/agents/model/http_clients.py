"""The HTTP connections to providers: one client for each event loop, shared by all models and runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from strands_cli.agents.model.checked_transport import checked_transport, held_to, is_held_to
from strands_cli.tools.tls_context import library_of


@dataclass(slots=True)
class _Shared:
    """A loop's HTTP client, and the number of models that use it."""

    client: Any
    users: int = 0


# By the address to which the connections are held, too: they go to the names of one workflow alone then.
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Shared]] = WeakKeyDictionary()


class LoopClients:
    """The client for `OpenAIModel`: the model's own settings over the connections that all models share.

    The SDK's class creates a client for each request. A client cannot move between event loops, and the SDK opens its
    own loops for synchronous calls, so this object has one client for each loop.
    """

    def __init__(self, client_class: Callable[..., Any], http_class: type, arguments: Any) -> None:
        self._make = client_class
        self._make_http = http_class
        self._arguments: Mapping[str, Any] = arguments
        self._written = is_held_to()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    @property
    def chat(self) -> Any:
        """Return the running loop's `chat` interface, the only one that the SDK's class uses."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            shared = _shared.setdefault(loop, {}).setdefault(self._written, _Shared(None))
            library = library_of(self._make_http)
            with held_to(self._written):
                shared.client = shared.client or self._make_http(transport=checked_transport(library, "openai"))
            self._clients[loop] = self._make(**self._arguments, http_client=shared.client)
            shared.users += 1
        return self._clients[loop].chat

    async def aclose(self) -> None:
        """Release the running loop's client; its connections close when no other model uses them."""
        loop = asyncio.get_running_loop()
        if self._clients.pop(loop, None) is None:
            return
        shared = _shared[loop][self._written]
        shared.users -= 1
        if not shared.users:
            await _shared[loop].pop(self._written).client.aclose()
