"""A server on loopback whose responses are written byte by byte, for what no model server should send."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
JSON = "application/json"


@dataclass(frozen=True)
class Reply:
    """A response: its parts are sent as HTTP chunks, each in a write of its own."""

    parts: Sequence[bytes] = ()
    kind: str = EVENTS
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def event(value: Any, name: str = "") -> bytes:
    """Return a server-sent event."""
    text = value if isinstance(value, str) else json.dumps(value)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    """Return an event of OpenAI's chat completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event(
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    )


DONE = event("[DONE]")
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def usage(counts: Any = USAGE) -> bytes:
    """Return the event with which a stream of chat completions reports its tokens."""
    return event(
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": counts}
    )


def chat(text: str = "well", finish: str = "stop") -> Reply:
    """Return a whole answer of OpenAI's chat completions."""
    return Reply([chunk({"role": "assistant", "content": text}), chunk({}, finish), usage(), DONE])


def line(message: Mapping[str, Any], **more: Any) -> bytes:
    """Return a line of Ollama's interface."""
    return json.dumps({"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, **more}).encode() + b"\n"


class RawServer:
    """Answers each request with the next reply, the last one again and again.

    Attributes:
        requests: The JSON bodies of the requests, None for those without.
        paths: Their paths.
    """

    def __init__(self, *replies: Reply) -> None:
        self._replies = replies
        self.requests: list[Any] = []
        self.paths: list[str] = []

    @property
    def host(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> RawServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                owner.answer(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Send the next reply."""
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.paths.append(handler.path)
        self.requests.append(json.loads(body) if body else None)
        handler.send_response(reply.status)
        for name, value in {"content-type": reply.kind, "transfer-encoding": "chunked", **reply.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        try:
            for part in reply.parts:
                handler.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                handler.wfile.flush()
            handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass  # the client has read enough
