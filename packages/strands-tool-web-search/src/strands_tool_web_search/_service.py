"""Where a search service is: the operator's address for it, its limits, and how it is connected to."""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from strands_tool_kit import CallContext, ToolError
from strands_tool_web_search._network import Backend, Meter, is_loopback

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
            path: What follows the address.

        Raises:
            ToolError: `unavailable`, since only the operator can mend it.
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
        """The service in a message: its host, without what may be private in its address."""
        return self.url.host

    def until(self, context: CallContext) -> float:
        """Return the moment by which all of a call must be done.

        Raises:
            ToolError: the call was cancelled, or its time is over already.
        """
        context.require_time()
        end = time.monotonic() + self.timeout_s
        # A moment is left to say so before the host gives up.
        return end if context.deadline is None else min(end, context.deadline - 0.25)

    def pool(self, meter: Meter) -> httpcore.AsyncConnectionPool:
        """Make the client of one call: one connection, HTTP/1.1, nothing from the environment."""
        context = tls_context(self.ca_file) if self.url.scheme == "https" else None
        if self.proxy is None:
            backend = Backend(meter, only_loopback=self.url.scheme == "http")
            return httpcore.AsyncConnectionPool(ssl_context=context, max_connections=1, network_backend=backend)
        return httpcore.AsyncHTTPProxy(
            proxy_url=httpcore.URL(scheme=b"http", host=self.proxy.raw_host, port=port_of(self.proxy), target=b"/"),
            proxy_auth=(self.proxy.username, self.proxy.password) if self.proxy.userinfo else None,
            ssl_context=context,
            max_connections=1,
            network_backend=Backend(meter, only_loopback=False),
        )


def _base_url(text: str) -> httpx.URL:
    """Parse the address of a service; plain http is for this machine only."""
    url = httpx.URL(text)
    is_here = url.host == "localhost" or is_loopback(url.host)
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


def port_of(url: httpx.URL) -> int:
    """Return the port that a URL leads to."""
    return url.port if url.port is not None else _PORTS[url.scheme]


@functools.cache
def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Return the context of all TLS connections: certificates are always verified.

    Raises:
        ToolError: `unavailable`, when the file of authorities cannot be used.
    """
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ValueError) as error:
            problem = f"the configuration of the tool is wrong: ca_file cannot be used: {str(error)[:200]}"
            raise ToolError("unavailable", problem, reason="config") from None
    return context
