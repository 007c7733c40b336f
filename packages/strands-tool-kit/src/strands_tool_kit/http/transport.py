"""The network below an HTTP client: it resolves, checks every address, connects to exactly these, and counts bytes."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from strands_tool_kit import ToolError, resolve
from strands_tool_kit.http._addresses import LOCAL_NAMES, IPAddress, parse_address
from strands_tool_kit.http._urls import port_of

RequireAddress = Callable[[IPAddress, int], None]
FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, httpcore.UnsupportedProtocol, OSError)


class TooMuchError(Exception):
    """More bytes came over the wire than one call may read."""


@dataclass(slots=True)
class Meter:
    """The bytes that one call may still read, over all of its connections."""

    left: int

    def count(self, read: int) -> None:
        """Subtract the read bytes.

        Raises:
            TooMuchError: Nothing is left.
        """
        self.left -= read
        if self.left < 0:
            raise TooMuchError


class MeteredStream(httpcore.AsyncNetworkStream):
    """A network stream that counts the bytes read from it."""

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
        """Return the stream's own information."""
        return self._stream.get_extra_info(info)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """A network backend that connects only to addresses that pass a check.

    Args:
        require_address: Raises `ToolError` for an address and port that may not be reached.
        meter: Counts the bytes read.
        inner: Opens the connection to one address.
        trusted: Host and port that need no check: a proxy written as one in a private network.
    """

    def __init__(
        self,
        require_address: RequireAddress,
        meter: Meter,
        inner: httpcore.AsyncNetworkBackend | None = None,
        trusted: tuple[str, int] | None = None,
    ) -> None:
        self._require_address = require_address
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
                problem = f"{host} resolves to {answer[:100]!r}, which is not a plain address"
                raise ToolError("denied", problem, reason="address", host=host)
            if (host, port) != self._trusted:
                self._require_address(address, port)
            addresses.append(address)
        return addresses

    async def _require_peer(self, stream: httpcore.AsyncNetworkStream, address: IPAddress, port: int) -> None:
        """Close the connection and raise unless its other end is the address that was checked."""
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


def open_pool(
    url: httpx.URL,
    meter: Meter,
    require_address: RequireAddress,
    *,
    proxy: httpx.URL | None = None,
    ca_file: str | None = None,
) -> httpcore.AsyncConnectionPool:
    """Make the client of one request: one connection, HTTP/1.1, no setting from the environment.

    Args:
        url: Where the request goes; https is always verified.
        meter: Counts the bytes read.
        require_address: Raises `ToolError` for an address and port that may not be reached.
        proxy: An HTTP proxy, which resolves names itself; only its own address is resolved here. It is checked too,
            unless the proxy is written as an address, or by a never public name.
        ca_file: A PEM file of further authorities.

    Raises:
        ToolError: `unavailable`; the file of authorities cannot be used.
    """
    context = tls_context(ca_file) if url.scheme == "https" else None
    if proxy is None:
        backend = GuardedBackend(require_address, meter)
        return httpcore.AsyncConnectionPool(ssl_context=context, max_connections=1, network_backend=backend)
    port, host = port_of(proxy), proxy.raw_host.decode("ascii")
    is_written = parse_address(host.strip("[]")) is not None or "." not in host or host.endswith(LOCAL_NAMES)
    return httpcore.AsyncHTTPProxy(
        proxy_url=httpcore.URL(scheme=b"http", host=proxy.raw_host, port=port, target=b"/"),
        proxy_auth=(proxy.username, proxy.password) if proxy.userinfo else None,
        ssl_context=context,
        max_connections=1,
        network_backend=GuardedBackend(require_address, meter, trusted=(host, port) if is_written else None),
    )


@functools.cache
def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Return the context of all TLS connections of the process: certificates are always verified.

    Raises:
        ToolError: `unavailable`; the file of authorities cannot be used.
    """
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ValueError) as error:
            problem = f"the configuration of the tool is wrong: ca_file cannot be used: {str(error)[:200]}"
            raise ToolError("unavailable", problem, reason="config") from None
    return context


def cause_of(error: Exception) -> tuple[str, str]:
    """Return the reason (`tls`, `protocol` or `connect`) and the message of a request that failed."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        return "tls", str(cause)[:300]
    message = str(error) or type(error).__name__
    return "protocol" if isinstance(error, httpcore.ProtocolError) else "connect", message[:300]
