"""Where an address that a person or a workflow has written leads, by its text, and where a connection to it may end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal

from strands_cli.addresses.address_table import LOCAL_NAMES, NEVER, IPNetwork, closed_because, meanings, parse_address
from strands_cli.quick_dataclass import dataclass

# `local` is this machine or a private network, `unclear` a text that some program could read as another place.
Place = Literal["public", "local", "unclear"]

# The text between `//` and the path; a backslash ends it for some programs and not for others.
_URL = re.compile(r"(?:(?:https?|socks5h?|grpc)://)?([^/?#]+)(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(\d{1,5}))?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
# A name whose last label is a number is an address in disguise to some resolvers: 127.1, 0x7f.1, 2130706433.
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_LOCAL_KINDS = frozenset({"loopback", "private", "link-local", "shared", "unspecified"})


@dataclass(frozen=True, slots=True)
class OpenNetwork:
    """A non-public network in which a connection may end, at one port or at any."""

    network: IPNetwork
    port: int | None

    def covers(self, address: str, port: int) -> bool:
        """Return whether an address and port are in it."""
        parsed = parse_address(address)
        return parsed is not None and parsed in self.network and self.port in (None, port)


def leads_to(address: str) -> Place:
    """Return where an address leads: a URL, or a host with or without a port.

    Only the one usual way to write a host counts as public, and nothing is looked up: a public name may have a private
    address, which `admitted` finds out.
    """
    host, has_user = _host_in(address)
    literal = parse_address(host.strip("[]"))
    if literal is not None:
        kinds = [closed_because(meaning) for meaning in meanings(literal)]
        if len(kinds) == 1 and kinds[0] in _LOCAL_KINDS:
            return "local"
        return "unclear" if has_user or any(kinds) else "public"
    name = host.lower().removesuffix(".")
    if not _is_name(name):
        return "unclear"
    if "." not in name or name.endswith(LOCAL_NAMES):
        return "local"
    return "unclear" if has_user else "public"


def is_public(address: str) -> bool:
    """Return whether an address certainly leads to a public place, so that no person is asked about it."""
    return leads_to(address) == "public"


def is_local(address: str) -> bool:
    """Return whether an address certainly stays on this machine or in a private network."""
    return leads_to(address) == "local"


def open_network(text: str) -> OpenNetwork:
    """Read `10.1.0.0/16:443`, `10.1.2.3:*` or `[fd00::/8]:443`.

    Raises:
        ValueError: It is none of these.
    """
    from ipaddress import ip_network

    network, _, port = text.rpartition(":")
    if port != "*" and not (re.fullmatch(r"\d{1,5}", port, re.ASCII) and 0 < int(port) < 65_536):
        raise ValueError(f"{text!r} is not an address or network with a port, like 10.1.0.0/16:443")
    return OpenNetwork(ip_network(network.replace("[", "").replace("]", ""), strict=False), _port(port))


def admitted(
    written: str, addresses: Iterable[str], port: int, opened: Iterable[OpenNetwork] | None = ()
) -> Iterator[str]:
    """Yield why a connection to a written address may not end at the found ones, for each forbidden one.

    A person was asked about an address in a non-public form: any address but those that are never opened will do. The
    others have to be public, or in a network that the workflow opens, which a person was asked about too; None where no
    network can be opened.
    """
    needs_question, can_open, opened = not is_public(written), opened is not None, tuple(opened or ())
    is_literal = parse_address(_host_in(written)[0].strip("[]")) is not None
    for text in addresses:
        address = parse_address(text)
        if address is None:
            yield f"{text[:100]!r} is not a plain address"
            continue
        for meaning in meanings(address):
            kind = closed_because(meaning)
            is_opened = any(network.covers(str(meaning), port) for network in opened)
            if kind is None or (is_literal and needs_question) or (kind not in NEVER and (needs_question or is_opened)):
                continue
            if meaning != address:
                yield f"{meaning} (inside {address}) is not a public address ({kind})"
            elif not can_open:
                yield f"{address} is not a public address ({kind})"
            elif kind in NEVER:
                yield f"{address} is not a public address ({kind}), and nothing opens it"
            else:
                address_text = f"[{address}]" if address.version == 6 else address
                opening = f"`allow_private: ['{address_text}:{port}']` opens it, and a person is asked about that"
                yield f"{address} is not a public address ({kind}); {opening}"


def _host_in(address: str) -> tuple[str, bool]:
    """Return the host, empty where it is unclear, and whether there is a user in front of it."""
    match = _URL.fullmatch(address)
    if not match or any(char <= " " or char in "\\%\x7f" for char in match[1]):
        return "", False
    user, _, host_and_port = match[1].rpartition("@")
    host = _HOST.fullmatch(host_and_port)
    if "@" in user or not host or not int(host[2] or 1) < 65_536 or ("[" in host[1]) is not (":" in host[1]):
        return "", False
    return host[1], bool(user) or "@" in match[1]


def _is_name(name: str) -> bool:
    """Return whether it is a name in the one form to compare and look up."""
    labels = name.split(".")
    return (
        len(name) <= 253
        and not _NUMBER.fullmatch(labels[-1])
        and all(_LABEL.fullmatch(label) if label.isascii() else _is_foreign_label(label) for label in labels)
    )


def _is_foreign_label(label: str) -> bool:
    """Return whether a label in another script is of letters that no program takes for digits, dots or ASCII."""
    return (
        len(label) <= 63
        and unicodedata.normalize("NFKC", label) == label
        and all(char in "-0123456789" or unicodedata.category(char)[0] in "LM" for char in label)
    )


def _port(text: str) -> int | None:
    return None if text == "*" else int(text)
