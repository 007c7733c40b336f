"""The operator's rules for requests: hosts, addresses, and the limits of one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from strands_tool_kit import ToolError
from strands_tool_kit.http._addresses import NEVER, IPAddress, closed_because, meanings, parse_address
from strands_tool_kit.http._rules import HostRule
from strands_tool_kit.http._scope import UrlScope
from strands_tool_kit.http._urls import parse_url, port_of, shown_origin

_REMOVE = "to permit it, remove it from `deny_hosts` in the tool's `config`"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call: seconds, a number of redirects, and bytes."""

    timeout_s: float = 30.0
    max_redirects: int = 5
    max_header_bytes: int = 65_536
    max_wire_bytes: int = 8_388_608
    max_body_bytes: int = 4_194_304
    max_text_bytes: int = 131_072


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

    Attributes:
        allow_hosts: The only hosts that requests may reach; None for all public ones.
        deny_hosts: Hosts and networks that no request may reach.
        allow_private: Networks, each with a port, that may be reached although they are not public.
        proxy: `http://host:port` for all requests; needs `allow_hosts`.
        ca_file: A PEM file of further authorities.
        secrets: Headers that carry a secret to one host.
        limits: The limits of one call.
        scope: The only origin and path that requests may reach.
        headers: Go with every request inside `scope`.
    """

    allow_hosts: tuple[HostRule, ...] | None = None
    deny_hosts: tuple[HostRule, ...] = ()
    allow_private: tuple[HostRule, ...] = ()
    proxy: str | None = None
    ca_file: str | None = None
    secrets: tuple[SecretRule, ...] = ()
    limits: Limits = Limits()
    scope: UrlScope | None = None
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
        origin = shown_origin(url)
        if any(rule.matches(host, port) for rule in self.deny_hosts):
            raise ToolError("denied", f"{origin} is in deny_hosts", reason="host", url=origin, fix=_REMOVE)
        if self.allow_hosts is not None and not any(rule.matches(host, port) for rule in self.allow_hosts):
            config = {"allow_hosts": [_host_and_port(host, port)]}
            raise ToolError("denied", f"{origin} is not in allow_hosts", reason="host", url=origin, config=config)
        if (address := parse_address(host)) is not None:
            self.require_address(address, port)
        return url

    def require_address(self, address: IPAddress, port: int) -> None:
        """Raise unless the address, and every address wrapped in it, may be reached at this port.

        Raises:
            ToolError: `denied`, with the kind of the address.
        """
        for index, meaning in enumerate(meanings(address)):
            if any(rule.covers(meaning, port) for rule in self.deny_hosts):
                problem = f"{meaning} is in deny_hosts"
                raise ToolError("denied", problem, reason="host", address=str(address), fix=_REMOVE)
            kind = closed_because(meaning)
            if kind is None:
                continue
            # A wrapped address (NAT64, 6to4...) would leave by another road than the opened one.
            if index or kind in NEVER or not any(rule.covers(meaning, port) for rule in self.allow_private):
                inside = "" if meaning == address else f" (inside {address})"
                problem = f"{meaning}{inside} is not a public address ({kind})"
                opens = not index and kind not in NEVER
                config: dict[str, Any] = (
                    {"config": {"allow_private": [_host_and_port(str(address), port)]}} if opens else {}
                )
                raise ToolError("denied", problem, reason="address", address=str(address), kind=kind, **config)


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
