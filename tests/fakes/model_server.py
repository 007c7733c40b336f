"""A model server on loopback that speaks OpenAI's and Anthropic's HTTP interfaces and answers from a script.

It is a real server: real clients reach it over real sockets. It serves `POST /v1/chat/completions` and
`POST /v1/responses`, streaming or not, `POST /v1/messages` as a stream, and `GET /v1/models`; every request, to any
path, is recorded.

    with ModelServer([Turn(calls=[("add", {"a": 2, "b": 3})]), Turn("five")]) as server:
        client = openai.OpenAI(base_url=server.url, api_key="any")

In a process of its own, `python -m tests.fakes.model_server --script turns.json` prints its URL as its one line and
ends when its standard input closes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TextIO

from tests.fakes.model_answers import (
    Answer,
    ChatAnswer,
    MessagesAnswer,
    ResponsesAnswer,
    Turn,
    turns_from_json,
)

__all__ = ["ModelServer", "Request", "Turn", "echo", "main"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived; header names are lower case, `json` is None when the body is not JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    json: Any


LIMIT_S = 120
Script = Sequence[Turn] | Callable[[dict[str, Any]], Turn]


def echo(request: dict[str, Any]) -> Turn:
    """Answer with the last message's text, so that an answer is a function of its request."""
    last = (request.get("messages") or request.get("input") or [{}])[-1]
    content = last.get("content", last.get("output", "")) if isinstance(last, dict) else last
    if isinstance(content, list):
        content = " ".join(part.get("text", "") for part in content)
    role = "tool" if last.get("role") == "tool" or last.get("type") == "function_call_output" else "user"
    return Turn(f"The {role} said: {content}")


class ModelServer:
    """Serve a script on 127.0.0.1 while the context is open.

    Args:
        script: Turns in the order of the requests, or a function of the request's JSON. An exhausted list answers
            with status 500 and says so. Absent: `echo`.
        port: 0 picks a free one.
        repeat: Begin the list again when it is exhausted.
        chunk_chars: Length of the pieces in which text and tool arguments are streamed.
        record_to: File to which each request is appended as one line of JSON.
        elsewhere: Status of the answer to other paths, or a failing turn, so that clients of other interfaces can be
            watched too.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        port: int = 0,
        repeat: bool = False,
        chunk_chars: int = 16,
        record_to: Path | None = None,
        elsewhere: int | Turn = 404,
    ) -> None:
        self.script: Script = echo if script is None else script
        self._port = port
        self._repeat = repeat
        self._chunk_chars = chunk_chars
        self._record_to = record_to
        self._elsewhere = elsewhere
        self._record_file: TextIO | None = None
        self._played = 0
        self.requests: list[Request] = []

    @property
    def host(self) -> str:
        """Address without a path, for clients that add `/v1` themselves."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """Base URL for OpenAI clients."""
        return f"{self.host}/v1"

    @property
    def model_requests(self) -> list[dict[str, Any]]:
        """JSON bodies of the requests that asked for an answer."""
        return [request.json for request in self.requests if request.method == "POST" and request.json is not None]

    @property
    def remaining(self) -> int:
        """Turns of a list that no request has taken; 0 for a function."""
        return 0 if callable(self.script) else max(0, len(self.script) - self._played)

    def __enter__(self) -> ModelServer:
        # A loop of its own thread, so that the server also works inside a test's running loop.
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.Task[None]] = set()
        self._transports: set[asyncio.Transport] = set()
        self._connecting: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-server", daemon=True)
        self._thread.start()
        self._listening = socket.create_server(("127.0.0.1", self._port))
        self._listening.setblocking(False)
        self._port = self._listening.getsockname()[1]
        self._loop.call_soon_threadsafe(self._loop.add_reader, self._listening, self._connect)
        if self._record_to is not None:
            self._record_file = self._record_to.open("a", encoding="utf-8")
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_S)
        self._loop.close()
        if self._record_file is not None:
            self._record_file.close()

    def _connect(self) -> None:
        """Take a connection; a server of asyncio's own leaves those open that come while it closes."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            accepted, _ = self._listening.accept()
            accepted.setblocking(False)
            connection = partial(_Connection, self._accept, self._loop, self._transports)
            connecting = self._loop.create_task(self._loop.connect_accepted_socket(connection, accepted))
            self._connecting.add(connecting)
            connecting.add_done_callback(self._connecting.discard)

    async def _stop(self) -> None:
        """End every connection, also one of which nothing was read and one whose client has not read its answer."""
        self._loop.remove_reader(self._listening)
        self._listening.close()
        this = asyncio.current_task()
        while self._transports or asyncio.all_tasks() - {this}:
            for transport in list(self._transports):
                transport.abort()
            for connection in list(self._open):
                connection.cancel()
            await asyncio.sleep(0.001)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while (request := await _read_request(reader)) is not None:
                self._record(request)
                await self._answer(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, _DroppedError):
            pass  # the client went away, the server stops, or the script says so: all end the connection
        finally:
            self._open.discard(task)
            writer.close()

    def _record(self, request: Request) -> None:
        self.requests.append(request)
        if self._record_file is not None:
            line = {"method": request.method, "path": request.path, "json": request.json}
            self._record_file.write(json.dumps(line) + "\n")
            self._record_file.flush()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        route = (request.method, request.path.partition("?")[0])
        if route == ("GET", "/v1/models"):
            listing = {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]}
            await _send_json(writer, 200, listing)
        elif route not in _DIALECTS:
            await self._fail_elsewhere(request, writer)
        elif not isinstance(request.json, dict):
            await _send_json(writer, 400, _error("the body is not a JSON object", "invalid_request_error"))
        else:
            number = self._played
            turn = self._next_turn(request.json)
            if turn.delay_s:
                await asyncio.sleep(turn.delay_s)
            if turn.after is not None and not await asyncio.to_thread(turn.after.wait, LIMIT_S):
                raise TimeoutError("what the answer waits for has not come")
            await self._play(turn, _DIALECTS[route](request.json, turn, number, self._chunk_chars), writer)

    async def _fail_elsewhere(self, request: Request, writer: asyncio.StreamWriter) -> None:
        turn = self._elsewhere if isinstance(self._elsewhere, Turn) else Turn(status=self._elsewhere)
        await asyncio.sleep(turn.delay_s)
        if turn.drop_after_chunks is not None:
            raise _DroppedError
        body = turn.body or _error(f"no route {request.method} {request.path}", "not_found")
        await _send_json(writer, turn.status, body, turn.headers)

    def _next_turn(self, request: dict[str, Any]) -> Turn:
        number, self._played = self._played, self._played + 1
        if callable(self.script):
            try:
                return self.script(request)
            except Exception as error:  # a mistake in a test's script must reach the test, not hang its client
                return Turn(status=500, body=_error(f"the script raised {error!r}", "script_error"))
        if self._repeat and self.script:
            number %= len(self.script)
        if number < len(self.script):
            return self.script[number]
        message = f"the script is exhausted: request {number + 1}, {len(self.script)} turns"
        return Turn(status=500, body=_error(message, "script_exhausted"))

    async def _play(self, turn: Turn, answer: Answer, writer: asyncio.StreamWriter) -> None:
        if turn.status >= 400:
            body = turn.body or _error(_phrase(turn.status), str(turn.status))
            await _send_json(writer, turn.status, body, turn.headers)
        elif not answer.streaming:
            if turn.drop_after_chunks is not None:
                writer.write(_head(200, "application/json", {"content-length": "1000"}))
                writer.write(b'{"id":')
                await writer.drain()
                raise _DroppedError
            await _send_json(writer, 200, '{"id": "cut' if turn.malformed else answer.whole(), turn.headers)
        else:
            await _send_stream(writer, answer.chunks(), turn)


class _Connection(asyncio.StreamReaderProtocol):
    """A connection whose transport is known as soon as there is one, before a task reads from it."""

    def __init__(
        self,
        accept: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        loop: asyncio.AbstractEventLoop,
        transports: set[asyncio.Transport],
    ) -> None:
        super().__init__(asyncio.StreamReader(loop=loop), accept, loop=loop)
        self._transports = transports
        self._own: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._own = transport
        self._transports.add(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._own is not None:
            self._transports.discard(self._own)
        super().connection_lost(exc)


class _DroppedError(Exception):
    """The script breaks this connection."""


_DIALECTS: dict[tuple[str, str], type[Answer]] = {
    ("POST", "/v1/chat/completions"): ChatAnswer,
    ("POST", "/v1/responses"): ResponsesAnswer,
    ("POST", "/v1/messages"): MessagesAnswer,
}


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read one HTTP/1.1 request; None when the client has closed the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    try:
        parsed = json.loads(body) if body else None
    except ValueError:
        parsed = None
    return Request(method, path, headers, body, parsed)


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def _phrase(status: int) -> str:
    """Return the words of a status; some servers have their own (529), which Python does not know."""
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Failed"


def _head(status: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", f"content-type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _send_json(
    writer: asyncio.StreamWriter,
    status: int,
    content: Mapping[str, Any] | str,
    headers: Mapping[str, str] | None = None,
) -> None:
    body = (content if isinstance(content, str) else json.dumps(content)).encode()
    writer.write(_head(status, "application/json", {**(headers or {}), "content-length": str(len(body))}) + body)
    await writer.drain()


async def _send_stream(
    writer: asyncio.StreamWriter, chunks: Iterator[tuple[str | None, dict[str, Any]]], turn: Turn
) -> None:
    """Send server-sent events as HTTP chunks, each in a write of its own, as a model that thinks does."""
    writer.write(_head(200, "text/event-stream", {**turn.headers, "transfer-encoding": "chunked"}))
    for number, (name, content) in enumerate(chunks):
        if turn.drop_after_chunks is not None and number >= turn.drop_after_chunks:
            await writer.drain()
            raise _DroppedError
        payload = '{"id": "cut' if turn.malformed and number == 1 else json.dumps(content)
        _write_chunk(writer, f"event: {name}\ndata: {payload}\n\n" if name else f"data: {payload}\n\n")
    _write_chunk(writer, "data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _write_chunk(writer: asyncio.StreamWriter, text: str) -> None:
    encoded = text.encode()
    writer.write(b"%x\r\n%b\r\n" % (len(encoded), encoded))


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input closes or the time is up; print the URL as the only line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.model_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, help="JSON file with a list of turns; without it answers echo requests")
    parser.add_argument("--repeat", action="store_true", help="begin the script again when it is exhausted")
    parser.add_argument("--record", type=Path, help="append each request to this file as a line of JSON")
    parser.add_argument("--max-seconds", type=float, default=600.0)
    parser.add_argument("--chunk-chars", type=int, default=16, help="length of the pieces in which text is streamed")
    options = parser.parse_args(arguments)
    script = turns_from_json(options.script.read_text(encoding="utf-8")) if options.script else None
    closed = threading.Event()

    def wait_for_end_of_input() -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stdin.read()
        closed.set()

    serving = {"repeat": options.repeat, "record_to": options.record, "chunk_chars": options.chunk_chars}
    with ModelServer(script, port=options.port, **serving) as server:
        print(server.url, flush=True)
        threading.Thread(target=wait_for_end_of_input, daemon=True).start()
        closed.wait(options.max_seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
