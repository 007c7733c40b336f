"""The examples in a folder of their own, beside the services they ask, on loopback."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.strands import Folder
from tests.examples.kit import ENVIRONMENT, Shop
from tests.fakes.http_service import HttpService


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shop:
    folder = Folder(tmp_path, dict(ENVIRONMENT))
    folder.work.mkdir()
    folder.site.mkdir()
    folder.examples()
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith(("STRANDS_", "AWS_", "OTEL_")):
            monkeypatch.delenv(name)
    for name in (*ENVIRONMENT, "HOME", "STRANDS_RUNS_DIR"):
        monkeypatch.setenv(name, folder.environment()[name])
    monkeypatch.chdir(folder.work)
    return Shop(folder, capsys)


@pytest.fixture
def hives_service(shop: Shop) -> Iterator[HttpService]:
    """Serve what `hives.py` serves at a port of its own, and send the example there."""
    with HttpService({"/v1/hives": [{"id": 2, "name": "lime tree", "kg": 47.2}]}) as service:
        send(shop, "http-executor.yaml", ":8643/", service.port)
        yield service


@pytest.fixture
def shelf_service(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve what `shelf_http.py` serves at a port of its own, and send the example there."""
    monkeypatch.syspath_prepend(str(shop.work / "examples" / "mcp"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), importlib.import_module("shelf_http").Shelf)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    send(shop, "mcp/shelf-over-http.yaml", ":8644/", server.server_address[1])
    yield
    server.shutdown()
    server.server_close()
    thread.join(120)
    for name in ("shelf_http", "shelf"):
        del sys.modules[name]


def send(shop: Shop, name: str, written: str, port: int) -> None:
    file = shop.work / "examples" / name
    text = file.read_text("utf-8")
    assert written in text
    file.write_text(text.replace(written, f":{port}/"), "utf-8")
