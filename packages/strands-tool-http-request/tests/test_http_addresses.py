"""No form of a private address is reached: not as a URL, not as an answer of the resolver, not wrapped in IPv6."""

from __future__ import annotations

import pytest

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
