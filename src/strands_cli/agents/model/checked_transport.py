"""The HTTP connections of the providers' clients: they use the right proxy, and let only answers through."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from strands_cli.agents.model.answer_faults import AnswerFault
from strands_cli.agents.model.client_errors import host_in
from strands_cli.agents.model.protocols import PROTOCOLS
from strands_cli.agents.model.read_answer import Proxy, ReadAnswer, proxy_for
from strands_cli.tools.pinned_transport import UnopenedPlace, pinned_connections, tls_context_for

if TYPE_CHECKING:
    import httpx

# Requests of a client besides those for answers: counts of tokens, lists of models.
_BESIDE = re.compile(r"/(count_tokens|input_tokens|tokenize|models|show)/?\Z|:countTokens\Z")
_PORTS = {"http": 80, "https": 443}
# A quotation mark in a text of the request has a backslash before it.
_STREAM = re.compile(rb'(?<!\\)"stream":\s*true')
# As the clients of OpenAI and Anthropic have it.
_MOST_CONNECTIONS, _MOST_IDLE = 1000, 100
_KEEP_ALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))
    if hasattr(socket, name)
]

NAME_IT = "if it is meant: name it with --host, or allow the workflow with --allow workflow:FILE"
# The address of the models made now, if its place is checked when it is connected to.
_HELD_TO: ContextVar[str] = ContextVar("held_to", default="")
# Takes the headers of each answer when it begins.
HEADERS_HEARD: ContextVar[Callable[[Mapping[str, str]], None] | None] = ContextVar("headers_heard", default=None)


def _tell(headers: Mapping[str, str]) -> None:
    if (hear := HEADERS_HEARD.get()) is not None:
        hear(headers)


@contextmanager
def held_to(text: str) -> Iterator[None]:
    """Let transports made in the context connect only to places that fit an address, which others wrote.

    A name that looks public must lead to public places; an address that does not was asked about. Empty for any place.
    """
    token = _HELD_TO.set(text)
    try:
        yield
    finally:
        _HELD_TO.reset(token)


def is_held_to() -> str:
    """Return the address of the context, empty for none."""
    return _HELD_TO.get()


def checked_transport(library: str, provider: str, *, keeps_connections: bool = True) -> httpx.AsyncBaseTransport:
    """Return a transport for the asynchronous clients of an HTTP library: `httpx`, or its successor.

    Args:
        library: The name of the library.
        provider: Whose interface the answers must have.
        keeps_connections: Whether connections outlive their request; they belong to one event loop then.
    """
    transport: httpx.AsyncBaseTransport = _transport_class(library)(provider, keeps_connections)
    return transport


@cache
def _stream_class(library: str) -> Any:
    """Return the class of bodies for an HTTP library."""
    http = import_module(library)

    class CheckedStream(http.AsyncByteStream):  # type: ignore[name-defined, misc]
        """The body of a response, of which only an answer is passed on."""

        def __init__(self, response: httpx.Response, reader: ReadAnswer) -> None:
            self._response = response
            self._reader = reader

        async def __aiter__(self) -> AsyncIterator[bytes]:
            body: Any = self._response.stream
            if "content-encoding" in self._response.headers:
                body = self._response.aiter_bytes()  # decoded
            try:
                async for chunk in body:
                    if piece := self._reader.feed(chunk):
                        yield piece
            finally:  # some clients leave a connection to the garbage collector
                await self._response.aclose()
            if piece := self._reader.end():
                yield piece

        async def aclose(self) -> None:
            await self._response.aclose()

    return CheckedStream


@cache
def _transport_class(library: str) -> Any:
    """Return the class of transports for an HTTP library."""
    http, stream_class = import_module(library), _stream_class(library)

    class CheckedTransport(http.AsyncBaseTransport):  # type: ignore[name-defined, misc]
        """Sends requests directly, or through the proxy of the environment."""

        def __init__(self, provider: str, keeps_connections: bool) -> None:
            self._provider = provider
            self._written = is_held_to()
            idle = _MOST_IDLE if keeps_connections else 0
            self._limits = http.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=idle)
            self._ways: dict[str | None, Any] = {}

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            address = str(request.url)
            proxy = proxy_for(address, os.environ)
            try:
                response: httpx.Response = await self._way(proxy).handle_async_request(request)
            except (http.ProxyError, http.ConnectError, http.ConnectTimeout) as error:
                if proxy is None:
                    _require_opened(error)
                    raise
                raise _of_proxy(proxy, address, error, is_temporary=not isinstance(error, http.ProxyError)) from error
            _tell(response.headers)
            if response.status_code >= 300 or self._provider not in PROTOCOLS or _BESIDE.search(urlsplit(address).path):
                return await _if_followed(request, response)
            response.request, kind = request, response.headers.get("content-type", "")
            reader = ReadAnswer(self._provider, address, kind, proxy, is_stream=_asks_for_stream(request))
            checked: httpx.Response = http.Response(
                response.status_code,
                headers=_headers_of_decoded(response),
                stream=stream_class(response, reader),
                extensions=response.extensions,
            )
            return checked

        def _way(self, proxy: Proxy | None) -> Any:
            """Return the library's own transport for a proxy, or for a direct connection."""
            url = proxy.url if proxy is not None else None
            if url not in self._ways:
                context = tls_context_for(http.AsyncClient)
                settings = {"verify": context, "limits": self._limits, "socket_options": _KEEP_ALIVE}
                try:
                    way = http.AsyncHTTPTransport(**settings, proxy=http.Proxy(url) if url else None)
                    is_held = self._written and url is None
                    self._ways[url] = pinned_connections(http, way, self._written, None, _unheard) if is_held else way
                except (ImportError, ValueError) as error:
                    assert proxy is not None  # noqa: S101 - without one there is nothing to refuse
                    raise AnswerFault(
                        f"the proxy {proxy.shown} of {proxy.variable} cannot be used: {error}",
                        f"correct or unset {proxy.variable}",
                    ) from error
            return self._ways[url]

        async def aclose(self) -> None:
            for way in self._ways.values():
                await way.aclose()

    return CheckedTransport


def _require_opened(error: Exception) -> None:
    """Raise for a connection that was not made since the workflow may not reach its place."""
    if isinstance(error.__cause__, UnopenedPlace):
        raise AnswerFault(str(error.__cause__), NAME_IT) from error


def _unheard(_reason: str) -> None:
    """Do nothing with the reason: the error has it."""


async def _if_followed(request: httpx.Request, response: httpx.Response) -> httpx.Response:
    """Return a response, unless it redirects a prompt or a key to another server, or would ask without the prompt."""
    location, here = response.headers.get("location"), str(request.url)
    there = urljoin(here, location or "")
    keeps_prompt = request.method != "POST" or response.status_code in (307, 308)
    is_redirect = location is not None and 300 <= response.status_code < 400
    if not is_redirect or (keeps_prompt and _is_of_same_server(here, there)):
        return response
    await response.aclose()
    server = f"{urlsplit(there).scheme}://{host_in(there)}"
    fix = (
        f"write {server} with its path into runtime.host if it is meant; else a proxy or a page to log in at may answer"
    )
    raise AnswerFault(f"{host_in(here)} redirects to {server} ({response.status_code}), which is not followed", fix)


def _is_of_same_server(here: str, there: str) -> bool:
    """Return whether an address is of the same server, encrypted if the first is."""
    try:
        first, second = urlsplit(here), urlsplit(there)
        ports = [url.port or _PORTS.get(url.scheme) for url in (first, second)]
    except ValueError:
        return False
    schemes = (first.scheme, second.scheme)
    is_same = schemes[0] == schemes[1] and ports[0] == ports[1]
    return first.hostname == second.hostname and (is_same or (schemes == ("http", "https") and ports == [80, 443]))


def _asks_for_stream(request: httpx.Request) -> bool:
    """Return whether a request asks for a stream of events; after a redirect it has no content."""
    return _STREAM.search(request.content) is not None or "stream" in urlsplit(str(request.url)).path


def _headers_of_decoded(response: httpx.Response) -> list[tuple[str, str]]:
    """Return the headers of a response whose body is decoded, and may get another length."""
    of_body = ("content-encoding", "content-length", "transfer-encoding")
    return [(name, value) for name, value in response.headers.multi_items() if name.lower() not in of_body]


def _of_proxy(proxy: Proxy, address: str, error: Exception, *, is_temporary: bool) -> AnswerFault:
    host = host_in(address)
    return AnswerFault(
        f"{host} cannot be reached through the proxy {proxy.shown} of {proxy.variable}: {error}",
        f"correct or unset {proxy.variable}, or add {urlsplit(address).hostname} to NO_PROXY",
        is_temporary=is_temporary,
    )
