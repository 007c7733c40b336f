"""The network below the HTTP client: it resolves within the call's time, keeps plain http on loopback, and counts."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpcore

from strands_tool_kit import ToolError, resolve


class TooMuchError(Exception):
    """More bytes came over the wire than one call may read."""


@dataclass(slots=True)
class Meter:
    """The bytes that one call may still read."""

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


class Backend(httpcore.AsyncNetworkBackend):
    """A network backend whose resolver cannot hold up the event loop or the end of the process.

    Args:
        meter: Counts the bytes read.
        only_loopback: Whether every address must be one of this machine.
    """

    def __init__(self, meter: Meter, *, only_loopback: bool) -> None:
        self._meter = meter
        self._only_loopback = only_loopback
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of the host that answers."""
        failure: Exception = httpcore.ConnectError("the host has no address")
        for address in await self._addresses(host, port):
            try:
                stream = await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            return MeteredStream(stream, self._meter)
        raise failure

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = [host] if is_address(host) else await resolve.look_up(host, port)
        except OSError as error:
            problem = f"{host} cannot be resolved: {str(error)[:200]}"
            raise ToolError("unavailable", problem, retryable=True, reason="resolve") from None
        if self._only_loopback and not all(map(is_loopback, found)):
            problem = f"{host} is not this machine, and plain http goes nowhere else"
            raise ToolError("unavailable", problem, reason="config")
        return found

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no search goes to a socket of this machine."""
        raise httpcore.UnsupportedProtocol("unix sockets are not reached")


def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether a host is an address of this machine's loopback network."""
    return is_address(host) and ipaddress.ip_address(host).is_loopback
