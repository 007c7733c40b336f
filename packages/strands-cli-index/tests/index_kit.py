"""What the tests of plugin indexes share: wheels, indexes that are made from them, and a server that may misbehave."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from strands_cli_index.building.site import BuiltIndex, build_site
from strands_cli_index.reading.index_places import IndexLocation
from strands_cli_index.reading.search_file import search_text
from strands_cli_index.reading.site_files import FORMAT, KIND, SEARCHED, WHOLE

Answer = tuple[int, Mapping[str, str], bytes]


def built(wheelhouse: Path, site: Path) -> BuiltIndex:
    """Make an index as the command does."""
    return build_site(wheelhouse, site)


def document_of(site: Path) -> Any:
    """Return the `index.json` of an index."""
    return json.loads((site / WHOLE).read_text("utf-8"))


def write_index(folder: Path, *releases: Mapping[str, Any], **fields: Any) -> IndexLocation:
    """Write an index by hand and return its place."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {"kind": KIND, "format": FORMAT, "releases": list(releases), "libraries": [], **fields}
    (folder / WHOLE).write_text(json.dumps(document), encoding="utf-8")
    return IndexLocation(folder=folder)


def release(name: str, version: str = "1.0", content: bytes = b"x", **fields: Any) -> dict[str, Any]:
    """Return a release of one wheel, as an `index.json` has it."""
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    files = [{"file": file, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}]
    return {"name": name, "version": version, "files": files, "requires_python": None, "publisher": None, **fields}


def write_searched(folder: Path, *lines: Mapping[str, Any]) -> Path:
    """Write a `search.jsonl` by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SEARCHED).write_text(search_text([{"versions": ["1.0"], "tools": [], **one} for one in lines]), "utf-8")
    return folder


def a_tool(name: str, description: str = "Does it.", permissions: str = "only reads") -> dict[str, str]:
    """Return a tool of a line of `search.jsonl`."""
    return {"name": name, "description": description, "permissions": permissions}


@dataclass
class Server:
    """A web server on loopback.

    `answer` makes what it answers to a path, and `asked` has the path and the headers of each request.
    """

    url: str
    answer: Callable[[str], Answer]
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


@contextmanager
def serving(answer: Callable[[str], Answer]) -> Iterator[Server]:
    """Run a server while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append((self.path, dict(self.headers)))
            status, headers, body = server.answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    real = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{real.server_address[1]}/", answer)
    thread = threading.Thread(target=real.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        real.shutdown()
        real.server_close()
        thread.join()


def of_folder(site: Path) -> Callable[[str], Answer]:
    """Return the answers of a plain file server that knows tags."""

    def answer(path: str) -> Answer:
        file = site / path.lstrip("/")
        if not file.is_file():
            return 404, {}, b""
        raw = file.read_bytes()
        return 200, {"ETag": f'"{hashlib.sha256(raw).hexdigest()[:8]}"', "Content-Length": str(len(raw))}, raw

    return answer
