"""The proxy that the environment names for an address: never one for this machine itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the variable that names it."""

    url: str
    variable: str

    @property
    def shown(self) -> str:
        """Its address without user and password."""
        scheme, separator, rest = self.url.rpartition("://")
        return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def proxy_for(address: str, environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an address, or None where a request goes to the server itself.

    `https_proxy` and its like count as for other programs: small letters first, then `ALL_PROXY`; `no_proxy` has hosts
    and domains. For a host on this machine no proxy is used, whatever the variables are.
    """
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return None
    if not host or is_this_machine(host) or _is_excluded(host, port, _value(environ, "no_proxy")[0]):
        return None
    # In a CGI program HTTP_PROXY comes from a header of the request. https://httpoxy.org
    is_of_request = parts.scheme == "http" and "REQUEST_METHOD" in environ
    for name in ("all_proxy",) if is_of_request else (f"{parts.scheme}_proxy", "all_proxy"):
        url, variable = _value(environ, name)
        if url:
            return Proxy(url if "://" in url else f"http://{url}", variable)
    return None


def is_this_machine(host: str) -> bool:
    """Return whether a name or an address is one of this machine itself."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or address.is_unspecified or (mapped is not None and mapped.is_loopback)


def _value(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the value of a variable in small or capital letters, and its name."""
    for variable in (name, name.upper()):
        if value := environ.get(variable, "").strip():
            return value, variable
    return "", name


def _is_excluded(host: str, port: int | None, excluded: str) -> bool:
    """Return whether `no_proxy` has a host: by its name, a domain above it, its network, or its name with the port."""
    for one in (part.strip().lower() for part in excluded.split(",")):
        if one == "*":
            return True
        name = one.removeprefix("*").removeprefix(".")
        if name and (host == name or host.endswith(f".{name}") or f"{host}:{port}" == name):
            return True
        if "/" in one and _is_in_network(host, one):
            return True
    return False


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
