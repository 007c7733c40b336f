"""What the operator lets requests reach: hosts, addresses, and the limits of one call."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from strands_tool_http_request._addresses import (
    NEVER,
    IPAddress,
    IPNetwork,
    closed_because,
    meanings,
    parse_address,
)
from strands_tool_kit import ToolError

if TYPE_CHECKING:
    from strands_tool_http_request._below import Below

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# A name whose last label is a number is an address in disguise to some resolvers: 127.1, 0x7f.1, 2130706433.
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_MAX_URL = 8192


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call; bytes but for `max_redirects` and `timeout_s`."""

    timeout_s: float = 30.0
    max_redirects: int = 5
    max_header_bytes: int = 65_536
    max_wire_bytes: int = 8_388_608
    max_body_bytes: int = 4_194_304
    max_text_bytes: int = 131_072


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
            ValueError: it is none of these.
        """
        place, port = _split_port(text.strip().lower())
        below = place.startswith("*.")
        host = place[2:] if below else place
        try:
            return cls(host, below, ipaddress.ip_network(host), port)
        except ValueError:
            name = _ascii_host(host)
        if name is None:
            raise ValueError(f"{text!r} is no host name, address or network")
        return cls(name, below, None, port)

    def matches(self, host: str, port: int) -> bool:
        """Return whether it names this host; addresses are compared as addresses."""
        if self.port not in (None, port):
            return False
        if self.network is not None:
            address = parse_address(host)
            return address is not None and self.covers(address, port)
        return host.endswith(f".{self.host}") if self.below else host == self.host

    def covers(self, address: IPAddress, port: int) -> bool:
        """Return whether the address lies in the network it names."""
        network = self.network
        fits = network is not None and network.version == address.version and address in network
        return fits and self.port in (None, port)


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A header whose value is a declared secret, sent to one host over https only."""

    host: HostRule
    header: str
    secret: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's rules, read once per call from the tool's configuration.

    `below` is the one place where an executor's requests may go, and `headers` go there with every one of them.
    """

    allow_hosts: tuple[HostRule, ...] | None = None
    deny_hosts: tuple[HostRule, ...] = ()
    allow_private: tuple[HostRule, ...] = ()
    proxy: str | None = None
    ca_file: str | None = None
    secrets: tuple[SecretRule, ...] = ()
    limits: Limits = Limits()
    below: Below | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Policy:
        """Read the configuration.

        Raises:
            ToolError: `unavailable`, since only the operator can correct it.
        """
        try:
            policy = _read(config)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ToolError(
                "unavailable", f"the configuration of the tool is wrong: {error}", reason="config"
            ) from None
        if policy.proxy is not None and not policy.allow_hosts:
            # A proxy resolves names itself, so that no address can be checked here.
            problem = "a proxy needs allow_hosts, since it resolves names where no check of ours sees them"
            raise ToolError("unavailable", f"the configuration of the tool is wrong: {problem}", reason="config")
        return policy

    def require_url(self, text: str, base: httpx.URL | None = None) -> httpx.URL:
        """Parse a URL as it will be used, and raise unless its form and its host are allowed.

        Raises:
            ToolError: `invalid_input` for its form, `denied` for its host or address.
        """
        return self.require_place(parse_url(text, base))

    def require_place(self, url: httpx.URL) -> httpx.URL:
        """Return a parsed URL, or raise unless its host is allowed.

        Raises:
            ToolError: `denied` for its host or address.
        """
        host, port = url.raw_host.decode("ascii"), port_of(url)
        shown = shown_origin(url)
        if any(rule.matches(host, port) for rule in self.deny_hosts):
            raise ToolError("denied", f"{shown} is in deny_hosts", reason="host", url=shown)
        if self.allow_hosts is not None and not any(rule.matches(host, port) for rule in self.allow_hosts):
            raise ToolError("denied", f"{shown} is not in allow_hosts", reason="host", url=shown)
        if (address := parse_address(host)) is not None:
            self.require_address(address, port)
        return url

    def require_address(self, address: IPAddress, port: int) -> None:
        """Raise unless the address, and every address wrapped in it, may be reached at this port.

        Raises:
            ToolError: `denied`, with what kind of address it is.
        """
        for index, meaning in enumerate(meanings(address)):
            if any(rule.covers(meaning, port) for rule in self.deny_hosts):
                raise ToolError("denied", f"{meaning} is in deny_hosts", reason="host", address=str(address))
            kind = closed_because(meaning)
            if kind is None:
                continue
            # What is wrapped (NAT64, 6to4...) would leave by another road than the one that was opened.
            if index or kind in NEVER or not any(rule.covers(meaning, port) for rule in self.allow_private):
                inside = "" if meaning == address else f" (inside {address})"
                problem = f"{meaning}{inside} is not a public address ({kind})"
                raise ToolError("denied", problem, reason="address", address=str(address), kind=kind)


def port_of(url: httpx.URL) -> int:
    """Return the port that a URL leads to."""
    return url.port if url.port is not None else _PORTS[url.scheme]


def origin_of(url: httpx.URL) -> tuple[str, str, int]:
    """Return scheme, host and port."""
    return url.scheme, url.raw_host.decode("ascii"), port_of(url)


def shown_origin(url: httpx.URL) -> str:
    """Return scheme, host and port as text, without what may be private in a path or query."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def parse_url(text: str, base: httpx.URL | None = None) -> httpx.URL:
    """Parse a URL as it will be used, relative to another one where that is given.

    Raises:
        ToolError: `invalid_input` for a form that could mean another place than it shows.
    """
    if len(text) > _MAX_URL:
        raise _bad_url(f"has {len(text)} characters; the limit is {_MAX_URL}", "length")
    # Parsers disagree about these, so that one host could be checked and another one meant.
    if any(char <= " " or char in "\\\x7f" or 0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise _bad_url("has a space, a control character or a backslash", "url")
    try:
        url = base.join(text) if base is not None else httpx.URL(text)
    except (httpx.InvalidURL, ValueError, TypeError, UnicodeError) as error:
        raise _bad_url(f"cannot be parsed: {str(error)[:200]}", "url") from None
    if url.scheme not in _PORTS:
        raise _bad_url("must begin with http:// or https://", "scheme")
    if url.userinfo or "@" in text.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]:
        raise _bad_url("may not carry a user name or password", "userinfo")
    host = _ascii_host(url.raw_host.decode("ascii"))
    if host is None:
        raise _bad_url("has no host, or a host in a form that is not accepted", "host")
    if url.port is not None and not 0 < url.port < 65_536:
        raise _bad_url("has an impossible port", "port")
    try:
        parsed = url.copy_with(host=host, fragment=None)
        _ = parsed.host  # decodes `xn--` names, as the client will, and raises where that cannot be done
        return parsed
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise _bad_url(f"cannot be parsed: {str(error)[:200]}", "url") from None


def _bad_url(problem: str, reason: str) -> ToolError:
    return ToolError("invalid_input", f"the URL {problem}", reason=reason, field="url")


def _ascii_host(host: str) -> str | None:
    """Return a host in the one form that is compared and connected to, or None when it has none."""
    if (address := parse_address(host)) is not None:
        return str(address)
    try:
        name = (host if host.isascii() else httpx.URL(f"http://{host}").raw_host.decode("ascii")).lower()
    except (httpx.InvalidURL, UnicodeError):
        return None
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or _NUMBER.fullmatch(labels[-1]) or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return name


def _split_port(text: str) -> tuple[str, int | None]:
    """Split `host:port`, `[address]:port` and `network:port`; a bare IPv6 address has no port."""
    if text.startswith("["):
        place, _, rest = text[1:].partition("]")
        # `[fd00::]/8:443` and `[fd00::/8]:443` are both read.
        prefix, _, port = rest.partition(":")
        return place + prefix, _port(port) if port else None
    if text.count(":") == 1:
        place, _, port = text.partition(":")
        return place, _port(port)
    return text, None


def _port(text: str) -> int | None:
    if text == "*":
        return None
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 65_536:
        raise ValueError(f"{text!r} is no port")
    return int(text)


def _read(config: Mapping[str, Any]) -> Policy:
    allowed = config.get("allow_hosts")
    private = tuple(HostRule.of(text) for text in config.get("allow_private") or ())
    if any(rule.network is None or rule.port is None for rule in private):
        raise ValueError("each entry of allow_private is an address or network with a port, like 10.1.0.0/16:8080")
    proxy = config.get("proxy")
    if proxy is not None:
        parsed = httpx.URL(proxy)
        if parsed.scheme != "http" or not parsed.host:
            raise ValueError("the proxy must be http://host:port")
    limits = {name: config[name] for name in Limits.__dataclass_fields__ if config.get(name) is not None}
    return Policy(
        allow_hosts=None if allowed is None else tuple(HostRule.of(text) for text in allowed),
        deny_hosts=tuple(HostRule.of(text) for text in config.get("deny_hosts") or ()),
        allow_private=private,
        proxy=proxy,
        ca_file=config.get("ca_file"),
        secrets=tuple(_secret_rule(rule) for rule in config.get("secrets") or ()),
        limits=Limits(**limits),
    )


def _secret_rule(rule: Mapping[str, Any]) -> SecretRule:
    host = HostRule.of(rule["host"])
    if host.below:
        raise ValueError("a secret belongs to one host, not to a pattern")
    return SecretRule(host, str(rule.get("header", "authorization")).lower(), rule["secret"], rule.get("prefix", ""))
