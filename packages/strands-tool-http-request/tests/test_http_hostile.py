"""Servers that mean harm: redirects of every kind, endless and folded answers, and headers that are tricks."""

from __future__ import annotations

import asyncio
import functools
import gzip
import time
import zlib

import pytest

from strands_tool_kit.loopback import trickle

pytestmark = pytest.mark.hostile

# Seconds that only a call without an end of its own needs, also on a loaded machine.
PATIENCE = 120
PRIVATE = [
    "http://127.0.0.1:1/",
    "http://localhost:1/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::ffff:169.254.169.254]/",
    "//169.254.169.254/",
    "https://192.168.0.1/",
    "http://metadata.google.internal/",
]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", PRIVATE)
def test_no_redirect_leads_into_a_private_network(room, location: str, status: int) -> None:
    room.names |= {"localhost": ["127.0.0.1"], "metadata.google.internal": ["169.254.169.254"]}
    room.server.answers["/"] = room.moved(location, f"{status} Moved")
    assert room.request().error == ("denied", "address")
    assert len(room.server.asked) == 1


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("file:///etc/passwd", ("invalid_input", "scheme")),
        ("javascript:alert(1)", ("invalid_input", "scheme")),
        ("gopher://127.0.0.1:6379/_FLUSHALL", ("invalid_input", "scheme")),
        ("http://user:pw@example.test/", ("invalid_input", "userinfo")),
        ("http://a\\@127.0.0.1/", ("invalid_input", "url")),
        ("http://2130706433/", ("invalid_input", "host")),
        ("http://0x7f.1/", ("invalid_input", "host")),
        ("http://[::1%25lo]/", ("invalid_input", "host")),
        ("http://xn--a.test/", ("invalid_input", "url")),
        (f"/{'x' * 9000}", ("invalid_input", "length")),
        ("/a b", ("invalid_input", "url")),
    ],
)
def test_a_redirect_has_to_be_a_sound_url(room, location: str, error: tuple[str, str]) -> None:
    room.server.answers["/"] = room.moved(location)
    assert room.request().error == error


@pytest.mark.parametrize("status", [300, 304, 305, 306])
def test_what_is_not_a_redirect_is_not_followed(room, status: int) -> None:
    room.server.answers["/"] = room.moved(room.other.url(), f"{status} Other", refresh=f"0; url={room.other.url()}")
    assert room.request().value["status"] == status
    assert not room.other.asked


def test_a_cookie_is_not_carried_on(room) -> None:
    room.server.answers["/"] = room.moved("/b", set_cookie="session=1; path=/")
    room.server.answers["/b"] = room.reply("b", content_type="text/plain")
    assert room.request().text == "b"
    assert "cookie" not in room.server.asked[1].headers


def test_trailers_say_nothing(room) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n"
    room.server.answers["/"] = head + b"2\r\nok\r\n0\r\nlocation: /b\r\nset-cookie: a=b\r\n\r\n"
    answer = room.request()
    assert answer.text == "ok"
    assert not {"location", "set-cookie"} & set(answer.value["headers"])


def test_a_loop_of_redirects_ends(room) -> None:
    room.server.answers["/"] = room.moved("/")
    assert room.request().error == ("tool_failed", "redirects")
    assert len(room.server.asked) == 6


def test_two_places_to_go_on_to_are_none(room) -> None:
    room.server.answers["/"] = b"HTTP/1.1 302 Found\r\nlocation: /a\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n"
    assert room.request().error == ("tool_failed", "headers")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_origin_gets_no_header_of_the_first(room, status: int) -> None:
    room.server.answers["/"] = room.moved(room.other.url(), f"{status} Moved")
    room.other.answers["/"] = room.moved(room.server.url("/back"))
    room.server.answers["/back"] = room.reply("end", content_type="text/plain")
    headers = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "Accept-Language": "de"}
    assert room.request(headers=headers).text == "end"
    for asked in (room.other.asked[0], room.server.asked[1]):
        assert not {"authorization", "cookie", "x-api-key"} & set(asked.headers)
        assert asked.headers["accept-language"] == "de"
    assert room.server.asked[0].headers["authorization"] == "Bearer x"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_body_is_never_sent_to_another_origin(room, method: str, status: int) -> None:
    room.server.answers["/"] = room.moved(room.other.url(), f"{status} Moved")
    room.other.answers["/"] = room.reply("got", content_type="text/plain")
    answer = room.request(method=method, body="private")
    if status == 303 or (method == "POST" and status in (301, 302)):
        assert [(asked.method, asked.body) for asked in room.other.asked] == [("GET", b"")]
        assert "content-type" not in room.other.asked[0].headers
    else:
        assert not room.other.asked
        assert answer.value["status"] == status
        assert f":{room.other.port} " in answer.value["notices"][0]


def test_a_body_is_sent_again_within_the_origin(room) -> None:
    room.server.answers |= {"/": room.moved("/b", "307 Again"), "/b": room.reply("ok", content_type="text/plain")}
    assert room.request(method="POST", body="x").text == "ok"
    assert room.server.asked[1].body == b"x"


# -- too slow, too long, folded too often


_drip = trickle(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b"x")
_drip_headers = trickle(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n")
_continue_for_ever = trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n")


async def _redirect_slowly(asked, writer) -> None:
    await asked.hung_up_within(0.15)
    writer.write(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n")


@pytest.mark.parametrize("play", [_drip, _drip_headers, _continue_for_ever, _redirect_slowly])
def test_one_deadline_ends_every_kind_of_slowness(room, play) -> None:
    room.server.answers["/"] = play
    begun = time.monotonic()
    assert room.request(timeout=0.4).error == ("timeout", "deadline")
    assert time.monotonic() - begun < PATIENCE


def test_the_deadline_of_the_host_is_kept(room) -> None:
    room.server.answers["/"] = _drip
    room.extra = {"deadline": time.monotonic() + 0.5}
    begun = time.monotonic()
    assert room.request(timeout=PATIENCE).error == ("timeout", "deadline")
    assert time.monotonic() - begun < PATIENCE
    room.extra = {"deadline": time.monotonic() - 1}
    assert room.request().error == ("timeout", "deadline")


def test_a_resolver_that_hangs_does_not(room, monkeypatch: pytest.MonkeyPatch) -> None:
    from strands_tool_kit import resolve

    async def hang(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(resolve, "look_up", hang)
    assert room.request("http://slow.test/", timeout=0.2).error == ("timeout", "deadline")


async def _endless(asked, writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
    for _ in range(500):
        writer.write(b"x" * 65_536)
        await writer.drain()


async def _endless_chunks(asked, writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(500):
        writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        await writer.drain()


async def _endless_tiny_chunks(asked, writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(500):
        writer.write(b"1;" + b"e" * 4_000 + b"\r\nx\r\n")
        await writer.drain()


@pytest.mark.parametrize("play", [_endless, _endless_chunks, _endless_tiny_chunks])
def test_an_endless_body_is_cut(room, play) -> None:
    room.config |= {"max_wire_bytes": 1_000_000, "max_body_bytes": 300_000, "max_text_bytes": 2_000}
    room.server.answers["/"] = play
    answer = room.request()
    assert (answer.status, answer.value["truncated"]) == ("success", True)
    assert set(answer.text) == {"x"}
    assert len(answer.text) <= 2_000
    assert answer.value["size"] <= 300_000


@pytest.mark.parametrize("line", [b"a: " + b"b" * 60_000 + b"\r\n", b"a: b\r\n", b"x"])
def test_endless_headers_are_refused(room, line: bytes) -> None:
    async def play(asked, writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(500):
            writer.write(line * 100)
            await writer.drain()

    room.server.answers["/"] = play
    assert room.request().error in [("unavailable", "protocol"), ("tool_failed", "headers")]


def test_more_headers_than_allowed_are_refused(room) -> None:
    room.server.answers["/"] = room.reply(**{f"h{number}": "x" * 1_000 for number in range(80)})
    assert room.request().error == ("tool_failed", "headers")


@functools.cache
def _bomb(way: int, layers: int = 1) -> bytes:
    folded = b"\0" * 12_000_000 if layers == 1 else b"\0" * 10_000_000
    for _ in range(layers):
        packer = zlib.compressobj(wbits=way)
        folded = packer.compress(folded) + packer.flush()
    return folded


@pytest.mark.parametrize(("encoding", "way"), [("gzip", 31), ("x-gzip", 31), ("deflate", 15), ("deflate", -15)])
def test_a_bomb_is_cut_before_it_unfolds(room, encoding: str, way: int) -> None:
    room.config["max_body_bytes"] = 100_000
    room.server.answers["/"] = room.reply(_bomb(way), content_type="text/plain", content_encoding=encoding)
    begun = time.process_time()
    answer = room.request()
    assert (answer.value["size"], answer.value["truncated"]) == (100_000, True)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,deflate", "br", "zstd", "compress", "nonsense", "gzip;q=1"])
def test_other_encodings_and_several_layers_are_refused(room, encoding: str) -> None:
    room.server.answers["/"] = room.reply(_bomb(31, 2), content_type="text/plain", content_encoding=encoding)
    assert room.request().error == ("tool_failed", "encoding")


def test_two_encoding_headers_count_together(room) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nxx"
    room.server.answers["/"] = head
    assert room.request().error == ("tool_failed", "encoding")


def test_damaged_and_unfinished_compression_is_reported(room) -> None:
    room.server.answers["/"] = room.reply(b"no gzip at all", content_encoding="gzip", content_type="text/plain")
    assert room.request().error == ("tool_failed", "encoding")
    part = gzip.compress(b"abc" * 10_000)[:-10]
    room.server.answers["/"] = room.reply(part, content_encoding="gzip", content_type="text/plain")
    answer = room.request()
    assert (answer.status, len(answer.value["notices"])) == ("success", 1)
    assert answer.text
    assert answer.text == "abc" * (len(answer.text) // 3) + "abc"[: len(answer.text) % 3]


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\na\0: b\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
        b"",
    ],
)
def test_what_is_not_http_is_unavailable(room, head: bytes) -> None:
    room.server.answers["/"] = head
    assert room.request().error == ("unavailable", "protocol")


def test_a_switch_of_protocols_is_refused(room) -> None:
    room.server.answers["/"] = b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"
    assert room.request().error == ("unavailable", "protocol")


def test_a_second_response_on_the_line_is_not_read(room) -> None:
    first = room.reply("one", content_type="text/plain")
    room.server.answers["/"] = first + room.reply("two", content_type="text/plain")
    assert room.request().text == "one"


# -- what the model may not say


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "host", "HOST", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer"),
        *("Upgrade", "Expect", "Proxy-Authorization", "Proxy-Connection", "X-Forwarded-For", "X-Forwarded-Host"),
        *("Forwarded", "Via", "Metadata", "Metadata-Flavor", "X-aws-ec2-metadata-token", "Accept-Encoding"),
        *(
            "X-Google-Metadata-Request",
            "X-HTTP-Method-Override",
            "Sec-Fetch-Site",
            "X-aws-ec2-metadata-token-ttl-seconds",
        ),
    ],
)
def test_headers_of_the_client_cannot_be_set(room, name: str) -> None:
    assert room.request(headers={name: "x"}).error == ("denied", "header")
    assert not room.server.asked


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "1\r\nHost: evil"},
        {"X-A": "1\nX-B: 2"},
        {"X-A": "\0"},
        {"X-A": "ü"},
        {"X-A": 5},
        {"X A": "1"},
        {"X-A:": "1"},
        {"X-A\r\nX-B": "1"},
        {"": "1"},
        {"X-A": "1", "x-a": "2"},
        {"Ⅹ-A": "1"},
        {"X-A": "x" * 20_000},
        {f"X-{number}": "1" for number in range(100)},
    ],
)
def test_malformed_headers_are_refused(room, headers: dict) -> None:
    assert room.request(headers=headers).error == ("invalid_input", "header")
    assert not room.server.asked


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"method": "CONNECT"}, ("invalid_input", "enum")),
        ({"method": "get"}, ("invalid_input", "enum")),
        ({"method": "GET / HTTP/1.1\r\nX: y"}, ("invalid_input", "enum")),
        ({"body": "x"}, ("invalid_input", "body")),
        ({"method": "POST", "body": "x", "json": {}}, ("invalid_input", "body")),
        ({"method": "POST", "json": {"a": float("nan")}}, ("invalid_input", "body")),
        ({"method": "POST", "json": {"a": "\ud800"}}, ("invalid_input", "body")),
        ({"method": "POST", "body": "\udcff"}, ("invalid_input", "body")),
        ({"method": "POST", "json": {"a": "x" * 2_000_000}}, ("invalid_input", "body")),
        ({"params": {"a": {"b": 1}}}, ("invalid_input", "type")),
        ({"params": {"a": "\ud800"}}, ("invalid_input", "type")),
        ({"timeout": 1e9}, ("invalid_input", "range")),
        ({"verify": False}, ("invalid_input", "unknown")),
        ({"proxy": "http://x"}, ("invalid_input", "unknown")),
        ({"allow_private": ["0.0.0.0/0:80"]}, ("invalid_input", "unknown")),
    ],
)
def test_other_input_is_refused_with_its_reason(room, given: dict, error: tuple[str, str]) -> None:
    assert room.request(**given).error == error
    assert not room.server.asked


def test_a_port_that_is_closed_is_unavailable(room) -> None:
    room.config["allow_private"].append("127.0.0.1:1")
    assert room.request("http://127.0.0.1:1/").error == ("unavailable", "connect")
