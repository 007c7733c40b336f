"""The owner of the page gets answers whatever others on the machine do with connections without its cookie."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import uvicorn
from served import Browser, Served

from strands_cli_ui.security import connections
from strands_cli_ui.security.connections import guarded_protocol
from tests.cli.strands import Folder

# It attacks a server.
pytestmark = pytest.mark.hostile

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
COOKIE = (b"cookie", b"key=right")


@pytest.fixture
def fresh(folder: Folder) -> Iterator[tuple[Served, str]]:
    one = Served(folder)
    yield one, one.address()
    one.process.kill()
    one.end()


def connected(place: str, sent: bytes = b"") -> socket.socket:
    host, _, port = place.rpartition(":")
    one = socket.create_connection((host, int(port)))
    one.sendall(sent)
    return one


@pytest.mark.parametrize("sent", [b"", HALF, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
def test_the_owner_is_admitted_and_answered_among_230_connections(sent: bytes, fresh: tuple[Served, str]) -> None:
    place = fresh[1].removeprefix("http://").partition("/")[0]
    stranger = Browser(place)
    with contextlib.ExitStack() as held:
        for _ in range(230):
            held.enter_context(connected(place, sent))
        assert [stranger.get("/?token=guess").status for _ in range(10)] == [403] * 10
        began = time.monotonic()
        owner = Browser.admitted(fresh[1])
        assert owner.get("/").status == 200
        assert time.monotonic() - began < 1
        for _ in range(230):
            held.enter_context(connected(place, sent))
        began = time.monotonic()
        assert owner.get("/").status == 200
        assert time.monotonic() - began < 1


def test_the_owner_is_answered_while_others_connect_without_end(fresh: tuple[Served, str]) -> None:
    place, owner = fresh[1].removeprefix("http://").partition("/")[0], Browser.admitted(fresh[1])
    ended = threading.Event()

    def flood() -> None:
        held: deque[socket.socket] = deque()
        while not ended.is_set():
            with contextlib.suppress(OSError):
                held.append(connected(place))
                held[-1].sendall(HALF)
            while len(held) > 230:
                held.popleft().close()
        for one in held:
            one.close()

    attackers = [threading.Thread(target=flood) for _ in range(3)]
    for one in attackers:
        one.start()
    try:
        assert [owner.get("/").status for _ in range(20)] == [200] * 20
    finally:
        ended.set()
        for one in attackers:
            one.join()


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Any]:
    """Serve a page of two bytes; yield what opens a connection to it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    config = uvicorn.Config(
        app, http=guarded_protocol(lambda headers: COOKIE in list(headers)), ws="none", lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running = asyncio.ensure_future(server.serve(sockets=[listening]))
        yield lambda: asyncio.open_connection(*listening.getsockname())
        server.should_exit = True
        await running


def request(*, known: bool) -> bytes:
    return b"GET / HTTP/1.1\r\nHost: x\r\n" + (b"Cookie: key=right\r\n" if known else b"") + b"\r\n"


async def is_ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("start", [b"", b"GET", HALF, request(known=True), request(known=False)])
def test_a_head_that_comes_byte_by_byte_is_not_waited_for(start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)

    async def drip() -> None:
        async with serving() as connect:
            reader, writer = await connect()
            writer.write(start)
            if start.endswith(b"\r\n\r\n"):
                assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            ending = asyncio.ensure_future(is_ended(reader))
            while not ending.done():
                writer.write(b"x")
                await asyncio.wait({ending}, timeout=0.01)
            assert await ending
            writer.close()

    asyncio.run(asyncio.wait_for(drip(), 20))


def test_of_connections_without_the_cookie_the_oldest_ends_and_those_with_it_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "STRANGERS", 3)

    async def crowd() -> None:
        async with serving() as connect:
            owner, to_owner = await connect()
            to_owner.write(request(known=True))
            await owner.readuntil(b"ok")
            held = [await connect() for _ in range(5)]
            assert [await is_ended(reader) for reader, _ in held[:2]] == [True, True]
            for reader, writer in (*held[2:], (owner, to_owner)):
                writer.write(request(known=False))
                await reader.readuntil(b"ok")
            for _, writer in (*held, (owner, to_owner)):
                writer.close()

    asyncio.run(asyncio.wait_for(crowd(), 20))
