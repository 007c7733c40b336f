"""The control: the same attacks succeed against a plain client, so the suites beside this one can fail."""

from __future__ import annotations

import functools
import socket
import time
import zlib

import httpx
import pytest

pytestmark = pytest.mark.hostile

# Of the forms that `test_http_addresses.py` tries, those that the system itself takes for this machine.
FORMS = [
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "0177.0.0.1"),
    *(
        "017700000001",
        "0",
        "0.0.0.0",
        "127.0.0.01",
        "127。0。0。1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "localhost",
    ),
]
MANY = 100


@functools.cache
def bomb(way: int, layers: int = 1) -> bytes:
    folded = b"\0" * 12_000_000
    for _ in range(layers):
        packer = zlib.compressobj(wbits=way)
        folded = packer.compress(folded) + packer.flush()
    return folded


async def endless(asked, writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
    for _ in range(MANY):
        writer.write(b"x" * 65_536)
        await writer.drain()


async def drip(asked, writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n")
    for _ in range(12):
        await asked.hung_up_within(0.1)
        writer.write(b"x")
        await writer.drain()


@pytest.fixture
def client():
    with httpx.Client(trust_env=False, follow_redirects=True, timeout=120) as one:
        yield one


def test_forms_of_this_machine_are_reached(room, client) -> None:
    room.server.answers["/"] = room.reply("inside")
    reached = []
    for host in FORMS:
        try:
            if client.get(f"http://{host}:{room.server.port}/").text == "inside":
                reached.append(host)
        except (httpx.HTTPError, httpx.InvalidURL):
            continue
    assert len(reached) >= 8, reached


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_into_the_private_network(room, client, status: int) -> None:
    room.server.answers["/"] = room.moved(room.other.url("/admin"), f"{status} Moved")
    room.other.answers["/admin"] = room.reply("the keys of the house")
    assert client.get(room.server.url()).text == "the keys of the house"


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_takes_body_and_headers_along(room, client, status: int) -> None:
    room.server.answers["/"] = room.moved(room.other.url("/admin"), f"{status} Moved")
    client.post(room.server.url(), content=b"private", headers={"X-Api-Key": "k"})
    assert (room.other.asked[0].body, room.other.asked[0].headers["x-api-key"]) == (b"private", "k")


def test_a_drip_goes_on_for_as_long_as_it_likes(room, client) -> None:
    room.server.answers["/"] = drip
    begun = time.monotonic()
    # Each byte comes in time, all of them do not: the timeout of a plain client is one of silence.
    assert client.get(room.server.url(), timeout=1).text == "x" * 12
    assert time.monotonic() - begun > 1


def test_a_huge_body_is_read_to_its_end(room, client) -> None:
    room.server.answers["/"] = endless
    assert len(client.get(room.server.url()).content) == MANY * 65_536


@pytest.mark.parametrize(
    ("encoding", "way", "layers"), [("gzip", 31, 1), ("deflate", 15, 1), ("deflate", -15, 1), ("gzip, gzip", 31, 2)]
)
def test_a_bomb_unfolds(room, client, encoding: str, way: int, layers: int) -> None:
    room.server.answers["/"] = room.reply(bomb(way, layers), content_encoding=encoding)
    assert len(client.get(room.server.url()).content) == 12_000_000


@pytest.mark.parametrize("name", ["Host", "X-Forwarded-For", "Metadata-Flavor", "Proxy-Authorization", "Forwarded"])
def test_every_header_can_be_set(room, client, name: str) -> None:
    client.get(room.server.url(), headers={name: "evil"})
    assert room.server.asked[0].headers[name.lower()] == "evil"


def test_one_bad_answer_of_the_resolver_is_connected_to(room, client, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = socket.getaddrinfo

    def mixed(host, port, *given, **more):
        if host not in (b"mixed.test", "mixed.test"):
            return looked_up(host, port, *given, **more)
        addresses = ("127.0.0.9", "127.0.0.1")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", mixed)
    room.server.answers["/"] = room.reply("inside")
    assert client.get(room.server.url(host="mixed.test")).text == "inside"


def test_a_proxy_is_taken_from_the_environment(room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", room.other.url())
    monkeypatch.setenv("http_proxy", room.other.url())
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    room.other.answers["http://api.test/"] = room.reply("by the proxy")
    assert httpx.get("http://api.test/", timeout=120).text == "by the proxy"
