"""An HTTP transport that looks a host up itself, checks what it finds, and connects to that address and no other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from strands_cli.addresses.written_places import OpenNetwork, admitted
from strands_cli.system.daemon_threads import DaemonThreads

_PORTS = {"http": 80, "https": 443}
_LOOKUPS = DaemonThreads()


class UnopenedPlace(Exception):
    """A host leads to a place that no one was asked about; the text says which, and what opens it."""


async def addresses_of(written: str, host: str, port: int, opened: Iterable[OpenNetwork] | None = ()) -> list[str]:
    """Return the addresses of a host, all of which may be connected to.

    Args:
        written: The address as the workflow has it, about which a person was asked or not.
        host: The host in it.
        port: The port.
        opened: The networks that the workflow opens besides; None where it can open none.

    Raises:
        UnopenedPlace: One of them may not be connected to.
        OSError: The name has none, or the resolver failed.
    """
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        entries = await asyncio.get_running_loop().run_in_executor(_LOOKUPS, look_up)
    except UnicodeError as error:
        raise OSError(f"{host} cannot be looked up: {error}") from error
    return _admitted(written, host, port, entries, opened)


def require_admitted_now(written: str) -> None:
    """Check where an address leads now, for a client that looks it up itself; one that leads nowhere is its matter.

    Raises:
        UnopenedPlace: As for `addresses_of`.
    """
    parts = urlsplit(written if "://" in written else f"//{written}")
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return
    _admitted(written, host, port, entries, None)


def _admitted(
    written: str, host: str, port: int, entries: Iterable[Any], opened: Iterable[OpenNetwork] | None
) -> list[str]:
    found = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for problem in admitted(written, found, port, opened):
        raise UnopenedPlace(f"{host} leads to a place that no one was asked about: {problem}")
    return found


def pinned_connections(
    http: Any, inner: Any, written: str, opened: Iterable[OpenNetwork] | None, tell: Callable[[str], None]
) -> Any:
    """Return a transport of an HTTP library (httpx or its successor) around another one of it.

    The name stays what TLS verifies and what the `Host` header says. `tell` gets the reason for a place that may not be
    connected to, which is an error of the library.
    """

    class Pinned(http.AsyncBaseTransport):  # type: ignore[misc]
        """The transport."""

        async def handle_async_request(self, request: Any) -> Any:
            """Send a request to the first address that answers."""
            host, port = request.url.host, request.url.port or _PORTS[request.url.scheme]
            failure: Exception = OSError("the host has no address")
            try:
                found = await addresses_of(written, host, port, opened)
            except (OSError, UnopenedPlace) as error:
                tell(str(error))
                raise http.ConnectError(str(error), request=request) from error
            for address in found:
                try:
                    response = await inner.handle_async_request(_to(http, request, address))
                except (http.ConnectError, http.ConnectTimeout) as error:
                    failure = error
                    continue
                if (peer := _peer_of(response)) != address:
                    await response.aclose()
                    tell(f"the connection to {address} ended at {peer}")
                    raise http.ConnectError("no connection", request=request)
                return response
            raise failure

        async def aclose(self) -> None:
            """Close the connections."""
            await inner.aclose()

    return Pinned()


def _to(http: Any, request: Any, address: str) -> Any:
    """Return a request that goes to an address in place of the name in its URL."""
    return http.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


def _peer_of(response: Any) -> str:
    """Return the address of the other end of the connection, as the system has it."""
    return str(response.extensions["network_stream"].get_extra_info("server_addr")[0])
