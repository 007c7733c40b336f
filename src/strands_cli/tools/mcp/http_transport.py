"""An MCP server that is reached over HTTP: no redirects, no compression, and so much in one response."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, get_type_hints

from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import MCP_DEFAULT_SSE_READ_TIMEOUT, MCP_DEFAULT_TIMEOUT, create_mcp_http_client

from strands_cli.tools.mcp.connection import MAX_MESSAGE_BYTES, Link, Streams
from strands_cli.tools.mcp.wire_text import readable
from strands_cli.tools.tls_context import library_of, tls_context_for

FIRST_ERROR = 400
# Statuses that mean that the server cannot be used now; other errors are about the one request.
_REFUSING = (401, 403, 404, 407, 429)
_NO_SESSION = 404


def reach_url(url: str, headers: Mapping[str, str]) -> Callable[[Link], AbstractAsyncContextManager[Streams]]:
    """Return what connects to a server at an address, with headers that go nowhere else."""

    @contextlib.asynccontextmanager
    async def reach(link: Link) -> AsyncIterator[Streams]:
        client = _client({**headers, "accept-encoding": "identity"})
        client.event_hooks = {"response": [_checked(link, client)]}
        async with client, streamable_http_client(url, http_client=client) as (incoming, outgoing, *_):
            yield incoming, outgoing

    return reach


def _client(headers: Mapping[str, str]) -> Any:
    """Return what `create_mcp_http_client` makes, but with the process's TLS context and without redirects."""
    kind = get_type_hints(create_mcp_http_client)["return"]
    timeout = importlib.import_module(library_of(kind)).Timeout(MCP_DEFAULT_TIMEOUT, read=MCP_DEFAULT_SSE_READ_TIMEOUT)
    return kind(headers=headers, timeout=timeout, follow_redirects=False, verify=tls_context_for(kind))


def _checked(link: Link, client: Any) -> Callable[[Any], Any]:
    """Return what looks at each response before it is read."""
    http = importlib.import_module(library_of(type(client)))

    class Capped(http.AsyncByteStream):  # type: ignore[misc,name-defined]
        """The bytes of a response, up to the limit."""

        def __init__(self, inner: Any) -> None:
            self._inner = inner

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
                if end:
                    yield readable(lines) + end
            if rest:
                yield readable(rest)

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
        response.stream = Capped(response.stream)

    return check
