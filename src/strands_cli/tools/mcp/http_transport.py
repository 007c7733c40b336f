"""An MCP server that is reached over HTTP: no redirects, no compression, and so much in one response."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, get_args, get_type_hints

from mcp.client.streamable_http import streamable_http_client

from strands_cli.addresses.written_places import OpenNetwork
from strands_cli.tools.mcp.connection import MAX_MESSAGE_BYTES, Link, Streams
from strands_cli.tools.mcp.read_responses import ReadEvents, ReadJson, request_in
from strands_cli.tools.mcp.wire_text import REPLACED, readable
from strands_cli.tools.pinned_transport import UnopenedPlace, addresses_of, pinned_connections
from strands_cli.tools.tls_context import library_of, tls_context_for

FIRST_ERROR = 400
# Statuses that mean that the server cannot be used now; other errors are about the one request.
_REFUSING = (401, 403, 404, 407, 429)
_NO_SESSION = 404
_ACCEPTED = 202
_PROXY_PORT = 80
# Seconds for a connection and a request, and between two events of a stream: those of the library's own client.
_TIMEOUT_S, _EVENT_TIMEOUT_S = 30.0, 300.0


def reach_url(
    url: str, headers: Mapping[str, str], proxy: str | None = None, opened: tuple[OpenNetwork, ...] = ()
) -> Callable[[Link], AbstractAsyncContextManager[Streams]]:
    """Return what connects to a server at an address, with headers that go nowhere else.

    Neither proxies nor passwords (`.netrc`) of the environment are used.

    Args:
        url: The address.
        headers: Go with every request.
        proxy: An HTTP proxy, which looks up the server's name itself.
        opened: Networks that the server, or the proxy, may have an address in although its name looks public.
    """

    @contextlib.asynccontextmanager
    async def reach(link: Link) -> AsyncIterator[Streams]:
        kind = _client_class()
        transport = await _transport(kind, url, proxy, opened, link)
        client = _client(kind, {**headers, "accept-encoding": "identity"}, transport)
        client.event_hooks = {"response": [_checked(link, client)]}
        async with client, streamable_http_client(url, http_client=client) as (incoming, outgoing, *_):
            yield incoming, outgoing

    return reach


def _client_class() -> Any:
    """Return the class of clients that the library takes: packages change theirs between versions."""
    return get_args(get_type_hints(streamable_http_client)["http_client"])[0]


def _client(kind: Any, headers: Mapping[str, str], transport: Any) -> Any:
    timeout = importlib.import_module(library_of(kind)).Timeout(_TIMEOUT_S, read=_EVENT_TIMEOUT_S)
    return kind(headers=headers, timeout=timeout, follow_redirects=False, transport=transport, trust_env=False)


async def _transport(kind: Any, url: str, proxy: str | None, opened: tuple[OpenNetwork, ...], link: Link) -> Any:
    """Return the transport to a server: its address, or that of the proxy, is checked when it is connected to."""
    http = importlib.import_module(library_of(kind))
    verify = tls_context_for(kind)
    if proxy is None:

        def tell(fault: str) -> None:
            link.fault = fault

        return pinned_connections(http, http.AsyncHTTPTransport(verify=verify, trust_env=False), url, opened, tell)
    through = http.URL(proxy)
    try:
        found = await addresses_of(proxy, through.host, through.port or _PROXY_PORT, opened)
    except (OSError, UnopenedPlace) as error:
        link.fault = f"its proxy cannot be used: {error}"
        raise
    pinned = through.copy_with(host=found[0])
    return http.AsyncHTTPTransport(verify=verify, trust_env=False, proxy=pinned)


def _checked(link: Link, client: Any) -> Callable[[Any], Any]:
    """Return what looks at each response before it is read."""
    http = importlib.import_module(library_of(type(client)))

    class Capped(http.AsyncByteStream):  # type: ignore[misc,name-defined]
        """The bytes of a response, up to the limit."""

        def __init__(self, inner: Any, read: ReadJson | ReadEvents | None) -> None:
            self._inner = inner
            self._read = read

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MAX_MESSAGE_BYTES
            rest = b""
            async for chunk in self._inner:
                left -= len(chunk)
                if left < 0:
                    link.fault = f"it sent a response of more than {MAX_MESSAGE_BYTES:,} bytes"
                    raise http.ReadError(link.fault)
                # By whole lines: a character may be cut between two chunks.
                lines, end, rest = (rest + chunk).rpartition(b"\n")
                if end and (passed := self._passed(lines + end)):
                    yield passed
            if rest and (passed := self._passed(rest)):
                yield passed
            if self._read is not None:
                yield self._read.end()

        def _passed(self, lines: bytes) -> bytes:
            text = readable(lines)
            if text != lines:
                link.note(REPLACED)
            return text if self._read is None else self._read.feed(text)

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def check(response: Any) -> None:
        if response.status_code in _REFUSING or response.status_code >= 500:
            link.fault = f"it answered HTTP {response.status_code}"
            link.is_stale = link.is_stale or response.status_code == _NO_SESSION
        elif 300 <= response.status_code < FIRST_ERROR:
            link.fault = f"it answered HTTP {response.status_code}, and redirects are not followed"
            raise http.ReadError(link.fault)
        if response.headers.get("content-encoding", "identity") != "identity":
            link.fault = "it compresses its answers, which it was asked not to"
            raise http.ReadError(link.fault)
        response.stream = Capped(response.stream, _reader_of(response, link))

    return check


def _reader_of(response: Any, link: Link) -> ReadJson | ReadEvents | None:
    """Return what reads the body of the answer to a request; None for what answers none, or is about the connection."""
    status = response.status_code
    request = request_in(response.request.content) if response.request.method == "POST" else None
    if request is None or status in (_ACCEPTED, *_REFUSING) or status >= 500:
        return None
    kind = str(response.headers.get("content-type", "")).lower()
    if status < FIRST_ERROR and kind.startswith("text/event-stream"):
        return ReadEvents(request, link)
    # Also what names another type: the client would show no more than that type.
    response.headers["content-type"] = "application/json"
    return ReadJson(request, link, f"it answered HTTP {status}" if status >= FIRST_ERROR else "")
