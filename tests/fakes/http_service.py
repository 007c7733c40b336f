"""A real HTTP service on loopback, with or without TLS, that tells what it was asked."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar


@dataclass(frozen=True)
class Asked:
    """One request: names of headers in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class HttpService:
    """Answers each path with its JSON, `{"asked": headers}` where it has none, and 302 where it is an address.

    Attributes:
        answers: What to answer, by path.
        certificate: Key and certificate, for TLS.
        asked: The requests so far.
    """

    answers: dict[str, Any] = field(default_factory=dict)
    certificate: tuple[Path, Path] | None = None
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> HttpService:
        service = self

        class Handler(_Handler):
            of: ClassVar[HttpService] = service

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if self.certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate[1], self.certificate[0])
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join(120)
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http{'s' if self.certificate else ''}://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    of: ClassVar[HttpService]

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.of.asked.append(Asked(self.command, self.path, headers, body))
        answer = self.of.answers.get(self.path.partition("?")[0], {"asked": headers})
        moved = isinstance(answer, str)
        content = b"" if moved else json.dumps(answer).encode()
        self.send_response(302 if moved else 200)
        if moved:
            self.send_header("location", answer)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names of the standard library

    def log_message(self, *given: Any) -> None:
        """Say nothing."""


def make_certificate(folder: Path) -> tuple[Path, Path] | None:
    """Return key and certificate for 127.0.0.1; None where openssl is not there to make them."""
    if shutil.which("openssl") is None:
        return None
    key, certificate = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", "3650", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "keyUsage=critical,keyCertSign,digitalSignature"]
    subprocess.run(command, check=True, capture_output=True)
    return key, certificate
