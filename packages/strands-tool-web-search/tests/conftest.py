"""A real server on loopback that stands for the search services, and calls of the tools against it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from strands_tool_web_search import duckduckgo_search, tavily_search

RECORDED = Path(__file__).with_name("recorded")
KEY = "tvly-0123456789abcdef"
Play = Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader

    async def hung_up_within(self, seconds: float) -> bool:
        """Return whether the client closes the connection within this time."""
        try:
            await asyncio.wait_for(self.reader.read(), seconds)
        except TimeoutError:
            return False
        return True

    @property
    def form(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode(), keep_blank_values=True).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def reply(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Make a whole response; `content_type="..."` becomes `content-type: ...`."""
    content = body.encode() if isinstance(body, str) else body
    lines = {"content-length": str(len(content)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + content


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@dataclass
class Server:
    """Gives its answers in turn, the last one again and again: bytes as they are, a function does what it likes."""

    loop: asyncio.AbstractEventLoop
    port: int = 0
    answers: list[bytes | Play] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def url(self, path: str = "", scheme: str = "http", host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
            method, target, _ = head[0].split(" ", 2)
            pairs = (line.partition(":") for line in head[1:-1])
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.asked.append(asked := Asked(method, target, headers, body, reader))
            answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(asked, writer)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., Server]]:
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

    @property
    def is_retryable(self) -> bool:
        return self.value["error"]["retryable"]


@dataclass
class Room:
    """A server in place of both services, and the two tools."""

    reply = staticmethod(reply)
    recorded = staticmethod(recorded)
    key = KEY

    server: Server
    config: dict[str, Any]
    extra: dict[str, Any]

    def answers(self, *answers: bytes | str | Play) -> None:
        self.server.answers[:] = [reply(one) if isinstance(one, str) else one for one in answers]

    def call(self, tool: Any, **given: Any) -> Answer:
        use = {"toolUseId": "use-1", "name": tool.__name__, "input": given}
        result = asyncio.run(tool(use, strands_cli={"config": self.config, **self.extra}, agent=None))
        assert result["toolUseId"] == "use-1"
        *texts, last = result["content"]
        return Answer(result["status"], "".join(block["text"] for block in texts), last["json"])

    def duck(self, query: str = "asyncio timeout", **given: Any) -> Answer:
        return self.call(duckduckgo_search.duckduckgo_search, query=query, **given)

    def tavily(self, query: str = "exchange rate of the euro", **given: Any) -> Answer:
        return self.call(tavily_search.tavily_search, query=query, **given)

    def both(self, name: str) -> Answer:
        return self.duck() if name == "duck" else self.tavily()


@pytest.fixture(scope="session")
def _shared(start_server: Callable[..., Server]) -> Server:
    return start_server()


@pytest.fixture
def room(_shared: Server) -> Room:
    _shared.answers[:] = [reply(status="404 Not Found")]
    _shared.asked.clear()
    return Room(_shared, {"base_url": _shared.url(), "timeout_s": 5}, {"secrets": {"TAVILY_API_KEY": KEY}})
