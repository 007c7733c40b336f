"""Each way to write an address is public, local or unclear; the core and the kit agree on every one of them."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from strands_cli.addresses.written_places import admitted, is_public, leads_to, open_network
from strands_tool_kit.http import Policy

ROOT = Path(__file__).parents[2]
PUBLIC = [
    "https://api.example.com/mcp?x=1#y",
    "EXAMPLE.com.",
    "example.com:8443",
    "8.8.8.8",
    "http://[2606:4700::1111]:80/",
    "münchen.example",
    "xn--mnchen-3ya.example",
    "_dmarc.example.com",
    "http://example.com/127.0.0.1",
    "127.0.0.1.nip.io",
]
LOCAL = [
    "localhost",
    "http://LOCALHOST.:80",
    "db",
    "a.localhost",
    "gpu.local",
    "x.internal",
    "router.lan",
    "127.0.0.1",
    "127.8.9.1:8000",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.1.1",
    "0.0.0.0",
    "[::1]",
    "http://[fd00::1]:1/x",
    "[fe80::1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:7f00:1]",
    "http://user:password@127.0.0.1/",
]
UNCLEAR = [
    *("127.1", "127.0.1", "10.1", "192.168.257", "2130706433", "0", "0x7f000001", "0x7f.0.0.1", "0X7F.1", "0177.0.0.1"),
    *(
        "017700000001",
        "127.0.0.01",
        "127.0.0.256",
        "127.0.0.1.",
        "1.2.3.4.5",
        "1.2.3.0x4",
        "example.0x7f",
        "4294967297",
    ),
    *(
        "１２７.0.0.1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "127．0．0．1",
        "١٢٧.0.0.١",
        "𝟙𝟚𝟟.0.0.1",
        "exa\u00admple.com",
        "exam\u200bple.com",
    ),
    *("ｅxample.com", "example.com\u3002", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "localhost%2e"),
    *("localhost..", "a..b", ".example.com", "", ".", "http://", "http:///etc", "http://:80/", "-a.test", "a!b.test"),
    *("user@example.com", "u:p@example.com", "a@b@example.com", "@example.com", "127.0.0.1:80@example.com"),
    *(
        "http://127.0.0.1\\@example.com",
        "http://127.0.0.1\\.example.com",
        "exam\tple.com",
        "example.com\n",
        " example.com",
    ),
    *("[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%1]", "[::1", "::1]", "[127.0.0.1]", "[::]x", "example.com:0x50"),
    *(
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::10.0.0.1]",
        "[2002:7f00:1::]",
        "[2606:4700::5efe:10.0.0.1]",
    ),
    *("[2001:0:4136:e378:8000:63bf:f5ff:fffe]", "[2001:db8::1]", "[ff02::1]", "[100::1]", "169.254.169.254"),
    *("100.100.100.200", "168.63.129.16", "[fd00:ec2::254]", "192.0.2.1", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
    *("ftp://example.com", "file:///etc/passwd", "unix:///tmp/x", "example.com:99999", "http://{{ host }}/", "${HOST}"),
    *("a" * 64 + ".com", "a." * 200 + "com"),
]


@pytest.mark.parametrize(("place", "texts"), [("public", PUBLIC), ("local", LOCAL), ("unclear", UNCLEAR)])
def test_where_a_text_leads(place: str, texts: list[str]) -> None:
    assert {text: leads_to(text) for text in texts} == dict.fromkeys(texts, place)


def test_every_network_that_is_not_public_asks() -> None:
    from strands_cli.addresses.address_table import _TABLE, meanings

    for network, _ in _TABLE:
        for address in (network[0], network[-1]):
            shown = str(address) if address.version == 4 else f"[{address}]"
            assert not is_public(shown), shown
            if isinstance(address, ipaddress.IPv4Address):
                assert not is_public(f"[::ffff:{address}]")
                assert not is_public(f"http://[2002:{int(address) >> 16:x}:{int(address) & 0xFFFF:x}::1]/")
            assert address in meanings(address) or address.version == 6


def test_the_tables_of_the_core_and_of_the_kit_are_the_same() -> None:
    core = ROOT / "src/strands_cli/addresses/address_table.py"
    kit = ROOT / "packages/strands-tool-kit/src/strands_tool_kit/http/_addresses.py"
    assert core.read_text(encoding="utf-8") == kit.read_text(encoding="utf-8")


def test_what_is_public_for_the_core_is_admitted_by_the_kit() -> None:
    """So all that the kit refuses is asked about; the core may be stricter about a form."""
    for text in PUBLIC:
        Policy().require_url(text if "://" in text else f"http://{text}")


@pytest.mark.parametrize(
    ("written", "found", "opened", "is_admitted"),
    [
        ("https://mcp.example.com/", ["93.184.216.34"], [], True),
        ("https://mcp.example.com/", ["10.0.0.1"], [], False),
        ("https://mcp.example.com/", ["93.184.216.34", "127.0.0.1"], [], False),
        ("https://mcp.example.com/", ["::ffff:127.0.0.1"], [], False),
        ("https://mcp.example.com/", ["64:ff9b::7f00:1"], [], False),
        ("https://mcp.example.com/", ["fe80::1%2"], [], False),
        ("https://mcp.example.com/", ["10.0.0.1"], ["10.0.0.0/8:443"], True),
        ("https://mcp.example.com/", ["10.0.0.1"], ["10.0.0.0/8:*"], True),
        ("https://mcp.example.com/", ["10.0.0.1"], ["10.0.0.0/8:80"], False),
        ("https://mcp.example.com/", ["fd00::1"], ["[fd00::/8]:443"], True),
        ("https://mcp.example.com/", ["169.254.169.254"], ["0.0.0.0/0:*"], False),
        ("https://8.8.8.8/", ["8.8.8.8"], [], True),
        ("http://db:1/", ["10.0.0.1"], [], True),
        ("http://db:1/", ["169.254.169.254"], [], False),
        ("http://127.1/", ["127.0.0.1"], [], True),
        ("http://0xA9FEA9FE/", ["169.254.169.254"], [], False),
        ("http://169.254.169.254/", ["169.254.169.254"], [], True),
        ("http://0.0.0.0:1/", ["0.0.0.0"], [], True),
    ],
)
def test_a_connection_ends_where_the_question_was_about(
    written: str, found: list[str], opened: list[str], is_admitted: bool
) -> None:
    problems = list(admitted(written, found, 443, [open_network(text) for text in opened]))
    assert (not problems) == is_admitted, problems


@pytest.mark.parametrize("text", ["10.0.0.0/8", "db:80", "10.0.0.0/33:1", "10.0.0.1:0", "10.0.0.1:99999", ""])
def test_a_network_has_an_address_and_a_port(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        open_network(text)
