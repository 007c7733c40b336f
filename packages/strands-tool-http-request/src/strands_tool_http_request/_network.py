"""The network below the HTTP client: it resolves, checks every answer, connects to those very addresses and counts."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpcore

from strands_tool_http_request._addresses import IPAddress, parse_address
from strands_tool_http_request._policy import Policy
from strands_tool_kit import ToolError, resolve


class TooMuchError(Exception):
    """More bytes came over the wire than one call may read."""


@dataclass(slots=True)
class Meter:
    """The bytes that one call has read, over all of its connections."""

    left: int

    def count(self, read: int) -> None:
        """Take away what was read, and raise when nothing is left."""
        self.left -= read
        if self.left < 0:
            raise TooMuchError


class MeteredStream(httpcore.AsyncNetworkStream):
    """A network stream that counts what is read from it."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read and count."""
        got = await self._stream.read(min(max_bytes, self._meter.left + 1), timeout)
        self._meter.count(len(got))
        return got

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write as the stream itself does."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Begin TLS, and go on counting."""
        return MeteredStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._meter)

    def get_extra_info(self, info: str) -> Any:
        """Return what the stream itself knows."""
        return self._stream.get_extra_info(info)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """A network backend that connects only where the policy lets it.

    Args:
        policy: The rules.
        meter: Counts the bytes read.
        inner: What opens a connection to one address; a port for tests.
        trusted: Host and port that need no check, for the operator's own proxy.
    """

    def __init__(
        self,
        policy: Policy,
        meter: Meter,
        inner: httpcore.AsyncNetworkBackend | None = None,
        trusted: tuple[str, int] | None = None,
    ) -> None:
        self._policy = policy
        self._meter = meter
        self._inner = inner if inner is not None else httpcore.AnyIOBackend()
        self._trusted = trusted

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of the host that answers, when all of its addresses are allowed."""
        if (host, port) == self._trusted:
            stream = await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
            return MeteredStream(stream, self._meter)
        failure: Exception = httpcore.ConnectError("the host has no address")
        for address in await self._allowed_addresses(host, port):
            try:
                # Each attempt has a part of the time, so that one dead address does not use up all of it.
                stream = await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            await self._require_peer(stream, address, port)
            return MeteredStream(stream, self._meter)
        raise failure

    async def _allowed_addresses(self, host: str, port: int) -> list[IPAddress]:
        literal = parse_address(host)
        answers = [host] if literal is not None else await _look_up(host, port)
        addresses = []
        for answer in answers:
            address = parse_address(answer)
            if address is None:
                problem = f"{host} resolves to {answer[:100]!r}, which is no plain address"
                raise ToolError("denied", problem, reason="address", host=host)
            self._policy.require_address(address, port)
            addresses.append(address)
        return addresses

    async def _require_peer(self, stream: httpcore.AsyncNetworkStream, address: IPAddress, port: int) -> None:
        """Raise unless the other end is the address that was checked."""
        peer = stream.get_extra_info("server_addr")
        reached = parse_address(str(peer[0])) if isinstance(peer, tuple) and peer else None
        if reached != address or peer[1] != port:
            await stream.aclose()
            raise ToolError(
                "denied", f"the connection to {address} ended elsewhere", reason="peer", address=str(address)
            )

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no request goes to a socket of this machine."""
        raise ToolError("denied", "unix sockets are not reached", reason="address")


async def _look_up(host: str, port: int) -> list[str]:
    try:
        answers = await resolve.look_up(host, port)
    except OSError as error:
        problem = f"{host} cannot be resolved: {str(error)[:200]}"
        raise ToolError("unavailable", problem, retryable=True, reason="resolve", host=host) from None
    if not answers:
        raise ToolError("unavailable", f"{host} has no address", retryable=True, reason="resolve", host=host)
    return answers
