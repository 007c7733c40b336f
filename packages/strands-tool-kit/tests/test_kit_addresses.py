"""The table of addresses, the operator's rules, and the connection that goes to exactly what was checked."""

from __future__ import annotations

import asyncio
import ipaddress
import socket

import httpcore
import pytest
from hypothesis import assume, given, settings, strategies

from strands_tool_kit import ToolError
from strands_tool_kit.http import HostRule, Policy
from strands_tool_kit.http._addresses import closed_because, meanings
from strands_tool_kit.http.transport import GuardedBackend, Meter


def test_a_connection_that_ends_elsewhere_is_closed() -> None:
    class Elsewhere(httpcore.AsyncNetworkBackend):
        async def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
            return await httpcore.AnyIOBackend().connect_tcp("127.0.0.1", port, timeout)

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        policy = Policy.of({"allow_private": [f"127.0.0.0/8:{port}"]})
        backend = GuardedBackend(policy.require_address, Meter(1000), Elsewhere())
        with pytest.raises(ToolError) as caught:
            asyncio.run(backend.connect_tcp("127.0.0.9", port, 2))
    assert (caught.value.code, caught.value.details["reason"]) == ("denied", "peer")


def test_no_unix_socket_is_reached() -> None:
    backend = GuardedBackend(Policy().require_address, Meter(1000))
    with pytest.raises(ToolError):
        asyncio.run(backend.connect_unix_socket("/run/docker.sock"))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111"])
def test_public_addresses_are_public(address: str) -> None:
    assert closed_because(ipaddress.ip_address(address)) is None
    Policy().require_address(ipaddress.ip_address(f"::ffff:{address}" if "." in address else address), 443)


def test_a_public_address_behind_nat64_or_6to4_is_public() -> None:
    for text in ("64:ff9b::8.8.8.8", "2002:808:808::1"):
        Policy().require_address(ipaddress.ip_address(text), 443)


def test_every_wrapped_address_is_found() -> None:
    wrapped = {
        "64:ff9b:1:a00:0:100::": "10.0.0.1",
        "2002:a00:1::": "10.0.0.1",
        "2606:4700::5efe:a00:1": "10.0.0.1",
        "::a00:1": "10.0.0.1",
        "2001:0:4136:e378:8000:63bf:f5ff:fffe": "10.0.0.1",
        "::ffff:a00:1": "10.0.0.1",
    }
    for text, inside in wrapped.items():
        assert ipaddress.ip_address(inside) in set(meanings(ipaddress.ip_address(text))), text


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(strategies.ip_addresses())
def test_the_table_closes_all_that_the_standard_library_calls_private(address) -> None:
    """The strategy draws most addresses from the special registries, private ones among them.

    Python 3.13 calls all of 6to4 private; here such an address is what the IPv4 address in it is.
    """
    assume(address.is_private and not getattr(address, "sixtofour", None))
    assert [one for one in meanings(address) if closed_because(one)], address


# -- what the operator says


def error_of(policy: Policy, url: str) -> tuple[str, str] | None:
    try:
        policy.require_url(url)
    except ToolError as refusal:
        return refusal.code, refusal.details["reason"]
    return None


@pytest.mark.parametrize(
    ("config", "url", "error"),
    [
        ({"allow_hosts": ["api.test"]}, "https://API.test./x", None),
        ({"allow_hosts": ["api.test"]}, "https://www.api.test/", ("denied", "host")),
        ({"allow_hosts": ["api.test"]}, "https://api.test.evil.test/", ("denied", "host")),
        ({"allow_hosts": ["*.api.test"]}, "https://a.b.api.test/", None),
        ({"allow_hosts": ["*.api.test"]}, "https://api.test/", ("denied", "host")),
        ({"allow_hosts": ["*.api.test"]}, "https://evilapi.test/", ("denied", "host")),
        ({"allow_hosts": ["api.test:443"]}, "https://api.test/", None),
        ({"allow_hosts": ["api.test:443"]}, "http://api.test/", ("denied", "host")),
        ({"allow_hosts": []}, "https://api.test/", ("denied", "host")),
        ({"allow_hosts": ["bücher.test"]}, "https://xn--bcher-kva.test/", None),
        ({"allow_hosts": ["api.test"], "deny_hosts": ["api.test:80"]}, "http://api.test/", ("denied", "host")),
        ({"deny_hosts": ["*.test"]}, "http://a.test/", ("denied", "host")),
        ({"deny_hosts": ["8.8.0.0/16"]}, "http://8.8.4.4/", ("denied", "host")),
        ({"deny_hosts": ["8.8.0.0/16"]}, "http://[::ffff:8.8.4.4]/", ("denied", "host")),
        ({"allow_private": ["10.0.0.0/8:80"]}, "http://10.1.2.3/", None),
        ({"allow_private": ["10.0.0.0/8:80"]}, "http://[::ffff:10.1.2.3]/", None),
        ({"allow_private": ["10.0.0.0/8:80"]}, "http://10.1.2.3:81/", ("denied", "address")),
        ({"allow_private": ["[fd00::/8]:80"]}, "http://[fd00::1]/", None),
        ({"allow_private": ["0.0.0.0/0:80"]}, "http://169.254.169.254/", ("denied", "address")),
        ({"allow_private": ["0.0.0.0/0:80"]}, "http://0.0.0.0/", ("denied", "address")),
        ({"allow_private": ["0.0.0.0/0:80"]}, "http://[64:ff9b::a9fe:a9fe]/", ("denied", "address")),
        ({"allow_private": ["10.0.0.0/8:80"]}, "http://[64:ff9b::a00:1]/", ("denied", "address")),
        ({"allow_private": ["[::/0]:80"]}, "http://[fd00:ec2::254]/", ("denied", "address")),
        ({"allow_hosts": ["10.0.0.1"]}, "http://10.0.0.1/", ("denied", "address")),
    ],
)
def test_the_operators_rules(config: dict, url: str, error: tuple[str, str] | None) -> None:
    assert error_of(Policy.of(config), url) == error


def test_a_rule_of_hosts_reads_every_form() -> None:
    assert HostRule.of("[::1]:80").port == 80
    assert HostRule.of("::1").network == ipaddress.ip_network("::1")
    assert HostRule.of("*.Example.com:*").port is None
