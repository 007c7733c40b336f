"""Headers of GGUF files, written by hand, and a runtime that answers from a script over real HTTP."""

from __future__ import annotations

import json
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PLAIN_TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(given: Any) -> bytes:
    if isinstance(given, str):
        return struct.pack("<I", 8) + text(given)
    if isinstance(given, bool):
        return struct.pack("<I?", 7, given)
    if isinstance(given, int):
        return struct.pack("<II", 4, given)
    if isinstance(given, list):
        return struct.pack("<IIQ", 9, 8, len(given)) + b"".join(map(text, given))
    raise TypeError(given)


def write_gguf(
    path: Path, values: Mapping[str, Any] | None = None, *, template: str = PLAIN_TEMPLATE, tensor_at: int = 0
) -> Path:
    """Write a file with one tensor of 32 bytes, `tensor_at` bytes after the header."""
    found = {
        "general.architecture": "llama",
        "tokenizer.ggml.tokens": ["a", "b"],
        "llama.context_length": 8192,
        "llama.block_count": 30,
        "llama.embedding_length": 576,
        "llama.attention.head_count": 9,
        "llama.attention.head_count_kv": 3,
        "tokenizer.chat_template": template,
        **(values or {}),
    }
    content = b"GGUF" + struct.pack("<IQQ", 3, 1, len(found))
    content += b"".join(text(name) + value(given) for name, given in found.items())
    content += text("token_embd.weight") + struct.pack("<IQIQ", 1, 8, 0, tensor_at)
    content += b"\0" * (-len(content) % 32) + b"\0" * 32
    path.write_bytes(content)
    return path


@pytest.fixture
def gguf(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file in the test's folder: `gguf(name, values, template=..., tensor_at=...)`."""

    def write(name: str = "model.gguf", values: Mapping[str, Any] | None = None, **how: Any) -> Path:
        return write_gguf(tmp_path / name, values, **how)

    return write


class Scripted:
    """A runtime with the interface of xllamacpp, whose servers give each request the next of `answers`.

    An answer is a list of chunks, or a status with an error. A chunk that is a `threading.Event` waits for it.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.requests: list[Any] = []
        self.settings: list[Any] = []
        self.hung_up = threading.Event()
        self.servers: list[ThreadingHTTPServer] = []

    def module(self) -> ModuleType:
        script, made = self, ModuleType("xllamacpp")

        class Server:
            def __init__(self, settings: Any) -> None:
                script.settings.append(settings)
                server = Quiet(("127.0.0.1", 0), script.handler(settings.api_keys[0]))
                threading.Thread(target=server.serve_forever, daemon=True).start()
                script.servers.append(server)
                self.listening_address = f"http://127.0.0.1:{server.server_address[1]}"

        # Giving up a request is a part of some tests.
        class Quiet(ThreadingHTTPServer):
            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        vars(made)["CommonParams"] = lambda: SimpleNamespace(
            hostnames=[],
            ui=True,
            model=SimpleNamespace(),
            cpuparams=SimpleNamespace(),
            cpuparams_batch=SimpleNamespace(),
        )
        vars(made)["Server"] = Server
        return made

    def handler(self, key: str) -> type[BaseHTTPRequestHandler]:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                script.requests.append(body)
                answer = script.answers.pop(0)
                if self.headers["Authorization"] != f"Bearer {key}":
                    answer = (401, {"message": "no key"})
                if isinstance(answer, tuple):
                    self.send_response(answer[0])
                    self.end_headers()
                    self.wfile.write(json.dumps({"error": answer[1]}).encode())
                    return
                self.send_response(200)
                self.end_headers()
                for chunk in answer:
                    self.send(chunk)
                self.wfile.write(b"data: [DONE]\n\n")

            def send(self, chunk: Any) -> None:
                while isinstance(chunk, threading.Event) and not chunk.wait(0.05):
                    try:
                        self.wfile.write(b":\n\n")
                    except OSError:
                        script.hung_up.set()
                        raise
                if not isinstance(chunk, threading.Event):
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

            def log_message(self, *words: Any) -> None:
                pass

        return Handler


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    script = Scripted()
    monkeypatch.setitem(sys.modules, "xllamacpp", script.module())
    yield script
    for server in script.servers:
        server.shutdown()
        server.server_close()
