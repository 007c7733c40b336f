"""A table of addresses that a request may not reach, in any form in which they are written."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

# `ipaddress.is_global` changed between Python releases, calls multicast and NAT64 global, and does not know metadata
# services, so the table is ours. The first match gives the reason.
_V4: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "reserved"),
    ("192.52.193.0/24", "reserved"),
    ("192.88.99.0/24", "reserved"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "reserved"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
)
_V6: tuple[tuple[str, str], ...] = (
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "private"),
    ("ff00::/8", "multicast"),
    ("64:ff9b:1::/48", "private"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2620:4f:8000::/48", "reserved"),
    ("3fff::/20", "documentation"),
)
# Services that give credentials to every program of the machine; some are at public addresses.
_METADATA = frozenset(
    ipaddress.ip_address(address)
    for address in (
        *("169.254.169.254", "169.254.169.253", "169.254.170.2", "169.254.170.23", "169.254.42.42", "169.254.0.23"),
        *("100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.169.123", "169.254.10.10"),
        *("fd00:ec2::254", "fd00:ec2::23", "fd00:42::42", "fd20:ce::254"),
    )
)
_TABLE: tuple[tuple[IPNetwork, str], ...] = tuple((ipaddress.ip_network(net), word) for net, word in (*_V4, *_V6))
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")
# The ends of names that no public resolver knows, beside names without a dot.
LOCAL_NAMES = (".localhost", ".local", ".internal", ".home.arpa", ".lan", ".intranet")
# Not opened by any configuration.
NEVER = frozenset({"metadata", "unspecified", "multicast"})


def parse_address(text: str) -> IPAddress | None:
    """Return an address from its canonical text, or None for any other text and for an address with a zone id."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def meanings(address: IPAddress) -> Iterator[IPAddress]:
    """Yield every address that packets to this one may end at: itself, and the one wrapped in it.

    An IPv4-mapped address is only another way to write the IPv4 address, so that one alone is yielded.
    """
    if isinstance(address, ipaddress.IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    else:
        yield address
        yield from _wrapped(address)


def _wrapped(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses inside an IPv6 address: compatible, 6to4, Teredo, NAT64 and ISATAP."""
    number = int(address)
    low = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address in _NAT64 or (address in _COMPATIBLE and number > 1):
        yield low
    if address in _NAT64_LOCAL:
        # RFC 6052 puts the bits of a /48 on both sides of the unused octet 64 to 71.
        yield ipaddress.IPv4Address((number >> 64 & 0xFFFF) << 16 | number >> 40 & 0xFFFF)
        yield low
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if number >> 32 & 0xFDFFFFFF == 0x5EFE:
        yield low


def closed_because(address: IPAddress) -> str | None:
    """Return in one word why an address is not public, or None if it is; wrapped addresses are not looked at."""
    if address in _METADATA:
        return "metadata"
    for network, word in _TABLE:
        if address.version == network.version and address in network:
            return word
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_V6 and address not in _NAT64:
        return "reserved"
    return None
