"""A real HTTP server on this machine for the tests of a tool: it gives scripted answers, and records requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

# The longest time of a slow answer, so that a client without an end of its own does not hold a test for ever.
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class LoopbackRequest:
    """One request as it came over the wire; header names in lower case.

    Attributes:
        port: The port of the server that got it.
        reader: The connection, for answers that watch it.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    port: int
    reader: asyncio.StreamReader

    @property
    def form(self) -> dict[str, str]:
        """The body as a form, with the first value of each name."""
        return {name: values[0] for name, values in parse_qs(self.body.decode(), keep_blank_values=True).items()}

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    async def hung_up_within(self, seconds: float) -> bool:
        """Return whether the client closes the connection within this time."""
        try:
            await asyncio.wait_for(self.reader.read(), seconds)
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True


Play = Callable[[LoopbackRequest, asyncio.StreamWriter], Awaitable[None]]


def reply(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a whole response, after which the connection ends; `content_type="..."` becomes `content-type: ...`."""
    content = body.encode() if isinstance(body, str) else body
    lines = {"content-length": str(len(content)), "connection": "close"}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + content


def moved(location: str, status: str = "302 Found", **headers: str) -> bytes:
    """Return a redirect."""
    return reply(status=status, location=location, **headers)


def trickle(start: bytes, part: bytes) -> Play:
    """Return an answer that sends its start, then a part every 20 ms until the client hangs up, for 30 s at most."""

    async def play(request: LoopbackRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until and not await request.hung_up_within(0.02):
            writer.write(part)
            await writer.drain()

    return play


@dataclass
class LoopbackServer:
    """A server on 127.0.0.1: bytes are sent as they are, a function writes its own answer.

    Attributes:
        answers: The answer of each path, without query; 404 for all others.
        in_turn: If it has answers, these come one after the other for any path, the last again and again.
        asked: The requests so far.
    """

    port: int = 0
    answers: dict[str, bytes | Play] = field(default_factory=dict)
    in_turn: list[bytes | Play] = field(default_factory=list)
    asked: list[LoopbackRequest] = field(default_factory=list)

    def url(self, path: str = "/", *, scheme: str = "http", host: str = "127.0.0.1") -> str:
        """Return the address of a path."""
        return f"{scheme}://{host}:{self.port}{path}"

    def forget(self) -> None:
        """Remove all answers and requests."""
        self.answers.clear()
        self.in_turn.clear()
        self.asked.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            request = await _read(reader, writer.get_extra_info("sockname")[1])
            self.asked.append(request)
            answer = self._answer(request)
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(request, writer)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()

    def _answer(self, request: LoopbackRequest) -> bytes | Play:
        if self.in_turn:
            return self.in_turn[min(len(self.asked), len(self.in_turn)) - 1]
        return self.answers.get(request.target.partition("?")[0], reply(status="404 Not Found"))


async def _read(reader: asyncio.StreamReader, port: int) -> LoopbackRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
    method, target, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:-1])
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return LoopbackRequest(method, target, headers, body, port, reader)


@contextlib.contextmanager
def loopback_servers() -> Iterator[Callable[..., LoopbackServer]]:
    """Run an event loop in a thread, and yield the function that starts a server on it.

    The function takes the options of `asyncio.start_server`, such as `ssl`. All servers end with the block.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loopback", daemon=True)
    thread.start()
    listeners: list[asyncio.Server] = []
    connections: list[asyncio.StreamWriter] = []

    def start(**options: Any) -> LoopbackServer:
        server = LoopbackServer()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Coroutine[Any, Any, None]:
            connections.append(writer)  # now: a task cancelled before it begins never sees it
            return server.serve(reader, writer)

        async def listen() -> None:
            listener = await asyncio.start_server(accept, "127.0.0.1", 0, limit=2**20, **options)
            listeners.append(listener)
            server.port = listener.sockets[0].getsockname()[1]

        asyncio.run_coroutine_threadsafe(listen(), loop).result(120)
        return server

    try:
        yield start
    finally:
        asyncio.run_coroutine_threadsafe(_stop(listeners, connections), loop).result(120)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(120)
        loop.close()


async def _stop(listeners: list[asyncio.Server], connections: list[asyncio.StreamWriter]) -> None:
    """End the servers with every connection, also one whose answer is not whole: the garbage collector would warn."""
    for listener in listeners:
        listener.close()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for connection in connections:
        connection.transport.abort()
    await asyncio.sleep(0)
