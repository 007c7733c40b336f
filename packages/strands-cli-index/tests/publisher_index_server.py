"""A package index on loopback, as PEP 691 and PEP 740 describe one, with behaviour that a test chooses."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"
SIMPLE_HTML = "application/vnd.pypi.simple.v1+html"
Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers from the table of its server."""

    server: Index

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.send_error(404)
            return
        answer(self)

    def reply(self, content: bytes, kind: str, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), **headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@dataclass(eq=False)
class Index(ThreadingHTTPServer):
    """A server with a table of answers; `asked` has each request's path and headers."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    daemon_threads = True

    def __post_init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/simple"

    def give(self, path: str, content: bytes, kind: str, status: int = 200, **headers: str) -> None:
        """Answer a path with these bytes."""
        self.answers[path] = lambda handler: handler.reply(content, kind, status, **headers)

    def publish(self, name: str, file: Path, provenance: bytes | None, *, html: bool = False) -> None:
        """Offer a file of a distribution with a provenance document."""
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        self.give(f"/files/{file.name}", content, "application/octet-stream")
        if provenance is not None:
            self.give(f"/integrity/{file.name}", provenance, "application/vnd.pypi.integrity.v1+json")
        address = f"/integrity/{file.name}" if provenance is not None else None
        entry: dict[str, Any] = {"filename": file.name, "url": f"/files/{file.name}", "hashes": {"sha256": digest}}
        entry["provenance"] = address
        listed = {"meta": {"api-version": "1.3"}, "name": name, "files": [entry]}
        more = f' data-provenance="{address}"' if address else ""
        page = f'<!DOCTYPE html><a href="/files/{file.name}#sha256={digest}"{more}>{file.name}</a>'
        if html:
            self.give(f"/simple/{name}/", page.encode(), SIMPLE_HTML)
        else:
            self.give(f"/simple/{name}/", json.dumps(listed).encode(), SIMPLE_JSON)

    def hang(self, path: str) -> None:
        """Answer a path with nothing, until the test has ended."""
        self.answers[path] = lambda handler: void(self.released.wait())


def void(_: object) -> None:
    """Take a value."""


@contextmanager
def started() -> Iterator[Index]:
    """Run an index; what hangs is released at the end."""
    index = Index()
    thread = threading.Thread(target=index.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        index.released.set()
        index.shutdown()
        index.server_close()
        thread.join()
