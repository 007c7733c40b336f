"""No form of a private address is reached: not as a URL, not as an answer of the resolver, not wrapped in IPv6."""

from __future__ import annotations

import asyncio
import ipaddress

import httpcore
import pytest
from hypothesis import assume, given, settings, strategies

from strands_tool_http_request._addresses import closed_because, meanings
from strands_tool_http_request._network import GuardedBackend, Meter
from strands_tool_http_request._policy import HostRule, Policy
from strands_tool_kit import ToolError

ADDRESS, FORM = ("denied", "address"), ("invalid_input", "host")
# Each form of a host that leads, or is taken by some parser to lead, to this machine, a private network or metadata.
FORMS = [
    ("127.0.0.1", ADDRESS),
    ("127.8.9.1", ADDRESS),
    ("127.1", FORM),
    ("127.0.1", FORM),
    ("2130706433", FORM),
    ("0x7f000001", FORM),
    ("0x7f.0.0.1", None),
    ("0x7f.1", FORM),
    ("0177.0.0.1", None),
    ("017700000001", FORM),
    ("0", FORM),
    ("0x", FORM),
    ("0.0.0.0", ADDRESS),
    ("127.0.0.1.", None),
    ("127.0.0.01", None),
    ("127.0.0.256", None),
    ("1.2.3.4.5", FORM),
    ("example.0x7f", FORM),
    ("１２７.0.0.1", None),
    ("①②⑦.0.0.1", None),
    ("127。0。0。1", ADDRESS),
    ("%31%32%37.0.0.1", FORM),
    ("127%2e0%2e0%2e1", FORM),
    ("[::]", ADDRESS),
    ("[::1]", ADDRESS),
    ("[0:0:0:0:0:0:0:1]", ADDRESS),
    ("[::ffff:127.0.0.1]", ADDRESS),
    ("[::ffff:7f00:1]", ADDRESS),
    ("[::127.0.0.1]", ADDRESS),
    ("[64:ff9b::127.0.0.1]", ADDRESS),
    ("[64:ff9b::a9fe:a9fe]", ADDRESS),
    ("[64:ff9b:1::10.0.0.1]", ADDRESS),
    ("[2002:7f00:1::]", ADDRESS),
    ("[2002:a9fe:a9fe::1]", ADDRESS),
    ("[2001:0:4136:e378:8000:63bf:f5ff:fffe]", ADDRESS),
    ("[2606:4700::5efe:10.0.0.1]", ADDRESS),
    ("[2606:4700::200:5efe:7f00:1]", ADDRESS),
    ("[fe80::1]", ADDRESS),
    ("[fe80::1%25eth0]", FORM),
    ("[fe80::1%eth0]", FORM),
    ("[::1%251]", FORM),
    ("[fc00::1]", ADDRESS),
    ("[fd00:ec2::254]", ADDRESS),
    ("[fec0::1]", ADDRESS),
    ("[ff02::1]", ADDRESS),
    ("[100::1]", ADDRESS),
    ("[2001:db8::1]", ADDRESS),
    ("[3fff::1]", ADDRESS),
    ("[4000::1]", ADDRESS),
    ("10.0.0.1", ADDRESS),
    ("172.31.255.255", ADDRESS),
    ("192.168.1.1", ADDRESS),
    ("169.254.169.254", ADDRESS),
    ("100.100.100.200", ADDRESS),
    ("168.63.129.16", ADDRESS),
    ("192.0.0.192", ADDRESS),
    ("198.18.0.1", ADDRESS),
    ("192.0.2.1", ADDRESS),
    ("224.0.0.1", ADDRESS),
    ("255.255.255.255", ADDRESS),
    ("240.0.0.1", ADDRESS),
]


@pytest.mark.parametrize(("host", "error"), FORMS, ids=[host for host, _ in FORMS])
def test_no_form_of_a_private_address_is_a_url(room, host: str, error: tuple[str, str] | None) -> None:
    room.config = {}
    answer = room.request(f"http://{host}:{room.server.port}/")
    # None: the parser refuses it, or it is taken for the address that it means; either way nothing is connected.
    assert answer.error in ([error] if error else [("invalid_input", "url"), FORM, ADDRESS])
    assert not room.server.asked


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.com/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://127.0.0.1:25/_", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("//example.com/", "scheme"),
        ("example.com", "scheme"),
        ("http:127.0.0.1", "host"),
        ("http:///etc", "host"),
        ("http://:80/", "host"),
        ("http://user@example.com/", "userinfo"),
        ("http://user:pw@example.com/", "userinfo"),
        ("http://@example.com/", "userinfo"),
        ("http://example.com@127.0.0.1/", "userinfo"),
        ("http://example.com\\@127.0.0.1/", "url"),
        ("http://127.0.0.1\\.example.com/", "url"),
        ("http://exam\tple.com/", "url"),
        ("http://example.com/\r\nHost: x", "url"),
        (" http://example.com/", "url"),
        ("http://example.com/ x", "url"),
        ("http://exam\0ple.com/", "url"),
        ("http://\udcff/", "url"),
        ("http://example.com:0/", "port"),
        ("http://example.com:99999/", "port"),
        ("http://example.com:x/", "url"),
        ("http://[::1/", "url"),
        ("http://a..b/", "host"),
        ("http://-a.test/", "host"),
        ("http://a!b.test/", "host"),
        ("http://xn--a.test/", "url"),
        (f"http://{'a' * 64}.test/", "host"),
        (f"http://{'a.' * 200}test/", "host"),
        (f"http://example.com/{'x' * 9000}", "length"),
    ],
)
def test_a_url_in_another_form_is_refused(room, url: str, reason: str) -> None:
    assert room.request(url).error == ("invalid_input", reason)
    assert not room.looked_up


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.2"],
        ["127.0.0.1", "10.0.0.1"],
        ["93.184.215.14", "169.254.169.254"],
        ["169.254.169.254", "93.184.215.14"],
        ["127.0.0.1", "::1"],
        ["127.0.0.1", "::ffff:10.0.0.1"],
        ["127.0.0.1", "fe80::1%eth0"],
        ["64:ff9b::10.0.0.1"],
        ["2002:a00:1::"],
        ["127.0.0.1", "0.0.0.0"],
        ["127.0.0.1", "not an address"],
    ],
)
def test_one_bad_answer_of_the_resolver_refuses_the_name(room, answers: list[str]) -> None:
    room.names["mixed.test"] = answers
    assert room.request(room.server.url(host="mixed.test")).error == ("denied", "address")
    assert not room.server.asked


def test_a_name_that_changes_its_address_is_asked_once_per_hop(room) -> None:
    room.names["rebind.test"] = ["127.0.0.1"]

    async def turn(asked, writer) -> None:
        room.names["rebind.test"] = ["169.254.169.254"]
        writer.write(room.moved("/next"))

    room.server.answers["/"] = turn
    assert room.request(room.server.url(host="rebind.test")).error == ("denied", "address")
    assert room.looked_up == ["rebind.test", "rebind.test"]
    assert len(room.server.asked) == 1


def test_a_name_that_is_not_known_is_unavailable(room) -> None:
    assert room.request("http://nowhere.test/").error == ("unavailable", "resolve")
    room.names["empty.test"] = []
    assert room.request("http://empty.test/").error == ("unavailable", "resolve")


def test_a_connection_that_ends_elsewhere_is_closed(room) -> None:
    class Elsewhere(httpcore.AsyncNetworkBackend):
        async def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
            return await httpcore.AnyIOBackend().connect_tcp("127.0.0.1", port, timeout)

    policy = Policy.of({"allow_private": [f"127.0.0.0/8:{room.server.port}"]})
    backend = GuardedBackend(policy, Meter(1000), Elsewhere())
    with pytest.raises(ToolError) as caught:
        asyncio.run(backend.connect_tcp("127.0.0.9", room.server.port, 2))
    assert (caught.value.code, caught.value.details["reason"]) == ("denied", "peer")


def test_no_unix_socket_is_reached() -> None:
    backend = GuardedBackend(Policy(), Meter(1000))
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
    """The strategy draws most addresses from the special registries, private ones among them."""
    assume(address.is_private)
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


@pytest.mark.parametrize(
    "config",
    [
        {"allow_private": ["10.0.0.0/8"]},
        {"allow_private": ["intranet:80"]},
        {"allow_private": ["10.0.0.1/8:80"]},
        {"allow_hosts": ["a b"]},
        {"allow_hosts": [1]},
        {"allow_hosts": ["a:70000"]},
        {"proxy": "http://proxy.test:3128"},
        {"proxy": "socks5://proxy.test", "allow_hosts": ["a.test"]},
        {"secrets": [{"host": "*.test", "secret": "KEY"}]},
    ],
)
def test_a_wrong_configuration_is_the_operators_problem(room, config: dict) -> None:
    room.config = config
    assert room.request("http://a.test/").error == ("unavailable", "config")


def test_a_rule_of_hosts_reads_every_form() -> None:
    assert HostRule.of("[::1]:80").port == 80
    assert HostRule.of("::1").network == ipaddress.ip_network("::1")
    assert HostRule.of("*.Example.com:*").port is None
