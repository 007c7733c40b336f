"""An HTTP transport that looks a host up itself, checks the addresses, and connects to one of these only."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from strands_cli.addresses.written_places import OpenNetwork, admitted
from strands_cli.system.daemon_threads import DaemonThreads

# The TLS context of all HTTP clients that the program itself makes, read when the first connection needs it.


# The variables with the certificate authorities of HTTP libraries, where a person has set them.
_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class DeferredTlsContext(ssl.SSLContext):
    """Replaces the context that an HTTP library makes for itself, and makes that one at the first handshake.

    Reading the certificate authorities takes 20 ms of CPU. A library does it for every client, also for one that only
    speaks to a server on this machine without TLS.
    """

    def __new__(cls, library: str) -> DeferredTlsContext:
        """Return a context of the library's default settings (`create_ssl_context` of httpx and its successor)."""
        context = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        context.library = library
        context.protocols = []
        return context

    library: str
    protocols: list[str]

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Remember the protocols to offer in a handshake."""
        self.protocols = list(alpn_protocols)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Begin a handshake in memory, as asyncio does."""
        return self._whole().wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        """Begin a handshake on a socket."""
        return self._whole().wrap_socket(*args, **kwargs)

    def _whole(self) -> ssl.SSLContext:
        context = _made(self.library, tuple(map(os.environ.get, _PLACES)))
        if self.protocols:
            context.set_alpn_protocols(self.protocols)
        return context


def tls_context_for(client_class: type) -> ssl.SSLContext:
    """Return the process's TLS context for a client class of httpx or its successor, or one derived from it."""
    return tls_context(library_of(client_class))


def library_of(client_class: type) -> str:
    """Return the HTTP library that a client class comes from: packages change theirs between versions."""
    return next(kind.__module__.partition(".")[0] for kind in client_class.__mro__ if kind.__name__ == "AsyncClient")


@cache
def tls_context(library: str) -> ssl.SSLContext:
    """Return the process's TLS context for an HTTP library, such as `httpx`."""
    return DeferredTlsContext(library)


@cache
def _made(library: str, places: tuple[str | None, ...]) -> ssl.SSLContext:
    """Let the library make its context, once as long as the environment names the same authorities."""
    ssl_context: ssl.SSLContext = import_module(library).create_ssl_context()
    return ssl_context


_PORTS = {"http": 80, "https": 443}
_LOOKUPS = DaemonThreads()


class UnopenedPlace(Exception):
    """A host leads to a place that no one was asked about; the text has the place, and the setting that opens it."""


async def addresses_of(text: str, host: str, port: int, opened: Iterable[OpenNetwork] | None = ()) -> list[str]:
    """Return the addresses of a host, all of which may be connected to.

    Args:
        text: The address as the workflow has it, about which a person was asked or not.
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
    return _admitted(text, host, port, entries, opened)


def require_admitted_now(text: str) -> None:
    """Check where an address leads now, for a client that looks it up itself; one that leads nowhere is its matter.

    Raises:
        UnopenedPlace: As for `addresses_of`.
    """
    parts = urlsplit(text if "://" in text else f"//{text}")
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return
    _admitted(text, host, port, entries, None)


def _admitted(
    text: str, host: str, port: int, entries: Iterable[Any], opened: Iterable[OpenNetwork] | None
) -> list[str]:
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for problem in admitted(text, addresses, port, opened):
        raise UnopenedPlace(f"{host} leads to a place that no one was asked about: {problem}")
    return addresses


def pinned_connections(
    http: Any, inner: Any, text: str, opened: Iterable[OpenNetwork] | None, tell: Callable[[str], None]
) -> Any:
    """Return a transport of an HTTP library (httpx or its successor) around another one of it.

    TLS still verifies the name, and the `Host` header still has it. `tell` gets the reason for a place that may not be
    connected to, which is an error of the library.
    """

    class PinnedTransport(http.AsyncBaseTransport):  # type: ignore[misc]
        """The transport."""

        async def handle_async_request(self, request: Any) -> Any:
            """Send a request to the first address that answers."""
            host, port = request.url.host, request.url.port or _PORTS[request.url.scheme]
            failure: Exception = OSError("the host has no address")
            try:
                addresses = await addresses_of(text, host, port, opened)
            except (OSError, UnopenedPlace) as error:
                tell(str(error))
                raise http.ConnectError(str(error), request=request) from error
            for address in addresses:
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

    return PinnedTransport()


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
