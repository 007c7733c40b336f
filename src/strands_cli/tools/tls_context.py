"""The TLS context of all HTTP clients that the program itself makes, read when the first connection needs it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

# What the HTTP libraries read their certificate authorities from, where a person has set it.
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
        """Remember what to offer in a handshake."""
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
    made: ssl.SSLContext = import_module(library).create_ssl_context()
    return made
