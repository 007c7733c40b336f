"""Where a search service is: the operator's address for it, its limits, and how it is connected to."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from strands_tool_kit import CallContext, ToolError
from strands_tool_kit.http import parse_address
from strands_tool_kit.http.transport import Meter, open_pool

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Service:
    """One search service, as the operator configured it.

    Attributes:
        url: Where every request of the tool goes.
        proxy: An HTTP proxy for it.
        ca_file: A PEM file of further authorities.
        timeout_s: Seconds for one call.
        max_body_bytes: The greatest decoded answer.
    """

    url: httpx.URL
    proxy: httpx.URL | None = None
    ca_file: str | None = None
    timeout_s: float = 20.0
    max_body_bytes: int = 2_097_152

    @classmethod
    def of(cls, config: Mapping[str, Any], base: str, path: str) -> Service:
        """Read a tool's configuration.

        Args:
            config: The configuration.
            base: The address of the service unless `base_url` says another.
            path: The path after the address.

        Raises:
            ToolError: `unavailable`, since only the operator can correct it.
        """
        more = {name: config[name] for name in ("ca_file", "timeout_s", "max_body_bytes") if name in config}
        try:
            url = _base_url(config.get("base_url", base)).join(path)
            proxy = _proxy_url(config["proxy"]) if config.get("proxy") else None
        except (httpx.InvalidURL, ValueError, TypeError) as error:
            problem = f"the configuration of the tool is wrong: {str(error)[:300]}"
            raise ToolError("unavailable", problem, reason="config") from None
        return cls(url, proxy, **more)

    @property
    def name(self) -> str:
        """The service in a message: its host, without the possibly private parts of its address."""
        return self.url.host

    def until(self, context: CallContext) -> float:
        """Return the moment by which all of a call must be done.

        Raises:
            ToolError: `cancelled` or `timeout`; the call has no time left.
        """
        return time.monotonic() + context.seconds(self.timeout_s)

    def pool(self, meter: Meter) -> httpcore.AsyncConnectionPool:
        """Make the client of one call."""
        return open_pool(self.url, meter, self._require_address, proxy=self.proxy, ca_file=self.ca_file)

    def _require_address(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> None:
        """Raise unless plain http stays on this machine."""
        if self.url.scheme == "http" and not address.is_loopback:
            problem = f"{self.url.host} is not this machine, and plain http goes nowhere else"
            raise ToolError("unavailable", problem, reason="config")


def _base_url(text: str) -> httpx.URL:
    """Parse the address of a service; plain http is for this machine only."""
    url = httpx.URL(text)
    address = parse_address(url.host)
    is_here = url.host == "localhost" or (address is not None and address.is_loopback)
    if url.scheme not in _PORTS or not url.host or (url.scheme == "http" and not is_here):
        raise ValueError(f"base_url {text[:200]!r} must begin with https:// (http:// for a loopback address)")
    if url.userinfo or url.query or url.fragment:
        raise ValueError("base_url may not carry a user name, a query or a fragment")
    return url.copy_with(path=f"{url.path.rstrip('/')}/")


def _proxy_url(text: str) -> httpx.URL:
    url = httpx.URL(text)
    if url.scheme != "http" or not url.host:
        raise ValueError("proxy must be http://host:port")
    return url
