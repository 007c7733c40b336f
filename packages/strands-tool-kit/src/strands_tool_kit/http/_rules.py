"""Rules that name hosts: one host, every host below it, an address or a network."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from strands_tool_kit.http._addresses import IPAddress, IPNetwork, parse_address
from strands_tool_kit.http._urls import ascii_host


@dataclass(frozen=True, slots=True)
class HostRule:
    """A host name, every name below it (`*.example.com`) or a network, with one port or any."""

    host: str
    below: bool
    network: IPNetwork | None
    port: int | None

    @classmethod
    def of(cls, text: str) -> HostRule:
        """Read `host`, `*.host`, `address` or `network`, each with an optional `:port`.

        Raises:
            ValueError: The text is something else.
        """
        host_pattern, port = _split_port(text.strip().lower())
        below = host_pattern.startswith("*.")
        host = host_pattern[2:] if below else host_pattern
        try:
            return cls(host, below, ipaddress.ip_network(host), port)
        except ValueError:
            name = ascii_host(host)
        if name is None:
            raise ValueError(f"{text!r} is not a host name, address or network")
        return cls(name, below, None, port)

    def matches(self, host: str, port: int) -> bool:
        """Return whether the rule covers this host and port; addresses are compared as addresses."""
        if self.port not in (None, port):
            return False
        if self.network is not None:
            address = parse_address(host)
            return address is not None and self.covers(address, port)
        return host.endswith(f".{self.host}") if self.below else host == self.host

    def covers(self, address: IPAddress, port: int) -> bool:
        """Return whether the address is in the rule's network and the port is the rule's."""
        network = self.network
        fits = network is not None and network.version == address.version and address in network
        return fits and self.port in (None, port)


def _split_port(text: str) -> tuple[str, int | None]:
    """Split `host:port`, `[address]:port` and `network:port`; a bare IPv6 address has no port."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        # `[fd00::]/8:443` and `[fd00::/8]:443` are both read.
        prefix, _, port = rest.partition(":")
        return host + prefix, _port(port) if port else None
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, _port(port)
    return text, None


def _port(text: str) -> int | None:
    if text == "*":
        return None
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 65_536:
        raise ValueError(f"{text!r} is not a port")
    return int(text)
