"""A real server on loopback that says exactly what a test scripts, and calls of the tools against it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from strands_tool_http_request import http_request, web_fetch
from strands_tool_kit import resolve

Play = Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    port: int
    reader: asyncio.StreamReader

    async def hung_up_within(self, seconds: float) -> bool:
        """Return whether the client closes the connection within this time."""
        try:
            await asyncio.wait_for(self.reader.read(), seconds)
        except TimeoutError:
            return False
        return True


def reply(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Make a whole response; `content_type="..."` becomes `content-type: ...`."""
    content = body.encode() if isinstance(body, str) else body
    lines = {"content-length": str(len(content)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + content


def moved(location: str, status: str = "302 Found", **headers: str) -> bytes:
    return reply(status=status, location=location, **headers)


@dataclass
class Server:
    """Answers by path on 127.0.0.1: bytes are sent as they are, a function may do what it likes."""

    reply = staticmethod(reply)
    moved = staticmethod(moved)

    loop: asyncio.AbstractEventLoop
    port: int = 0
    answers: dict[str, bytes | Play] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
            method, target, _ = head[0].split(" ", 2)
            headers = {}
            for line in head[1:-1]:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            asked = Asked(method, target, headers, body, writer.get_extra_info("sockname")[1], reader)
            self.asked.append(asked)
            answer = self.answers.get(target.partition("?")[0], reply(status="404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(asked, writer)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()


@contextlib.contextmanager
def serving() -> Iterator[Callable[..., Server]]:
    """Run an event loop in a thread; the function it yields starts a server on it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loopback", daemon=True)
    thread.start()
    listeners: list[asyncio.Server] = []

    def start(**options: Any) -> Server:
        server = Server(loop)

        async def listen() -> None:
            listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=2**20, **options)
            listeners.append(listener)
            server.port = listener.sockets[0].getsockname()[1]

        asyncio.run_coroutine_threadsafe(listen(), loop).result(10)
        return server

    async def stop() -> None:
        for listener in listeners:
            listener.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    try:
        yield start
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(120)
        loop.close()


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., Server]]:
    with serving() as start:
        yield start


@pytest.fixture(scope="session")
def _shared(start_server: Callable[..., Server]) -> tuple[Server, Server]:
    return start_server(), start_server()


@dataclass(frozen=True)
class Answer:
    """A tool result taken apart."""

    status: str
    text: str
    value: dict[str, Any]

    @property
    def error(self) -> tuple[str, str]:
        """Code and reason of an error result."""
        assert self.status == "error", self
        return self.value["error"]["code"], self.value["error"]["details"]["reason"]


@dataclass
class Room:
    """A server that may be reached, another origin, and the two tools."""

    reply = staticmethod(reply)
    moved = staticmethod(moved)

    server: Server
    other: Server
    config: dict[str, Any]
    names: dict[str, list[str]]
    looked_up: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def call(self, tool: Any, **given: Any) -> Answer:
        name = tool.__name__
        use = {"toolUseId": "use-1", "name": name, "input": given}
        result = asyncio.run(tool(use, strands_cli={"config": self.config, **self.extra}, agent=None))
        assert result["toolUseId"] == "use-1"
        *texts, last = result["content"]
        return Answer(result["status"], "".join(block["text"] for block in texts), last["json"])

    def request(self, url: str = "", **given: Any) -> Answer:
        return self.call(http_request.http_request, url=url or self.server.url(), **given)

    def fetch(self, url: str = "", **given: Any) -> Answer:
        return self.call(web_fetch.web_fetch, url=url or self.server.url(), **given)


@pytest.fixture
def room(_shared: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch) -> Room:
    """Open exactly the two loopback servers, and answer names from a table of the test."""
    server, other = _shared
    for one in _shared:
        one.answers.clear()
        one.asked.clear()
    private = [f"127.0.0.1:{one.port}" for one in _shared]
    found = Room(server, other, {"allow_private": private, "timeout_s": 5}, {})

    async def look_up(host: str, port: int) -> list[str]:
        found.looked_up.append(host)
        if host not in found.names:
            raise OSError("no such name in this test")
        return found.names[host]

    monkeypatch.setattr(resolve, "look_up", look_up)
    return found
