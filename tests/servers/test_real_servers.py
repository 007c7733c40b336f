"""Servers made with the `mcp` package, each in a process of its own: one on its pipes, one over HTTP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import ExitCode, NotEquipped
from strands_cli.tools.mcp import server as mcp_server
from strands_cli.workflow.steps import McpServer
from tests.servers.conftest import Site
from tests.yaml_texts import read_yaml

# Each test starts processes, and waits for them.
pytestmark = pytest.mark.hostile

SERVER = """
import json, os, sys
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("library")

@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def find(title: str, limit: int = 3) -> str:
    "Find a book."
    return f"{limit} books like {title}"

@server.tool()
def count() -> dict[str, int]:
    "Count the books."
    return {"books": 7}

@server.tool()
def flood() -> str:
    "Say too much."
    return "x" * 500_000

@server.tool()
def end() -> str:
    "End the server."
    os._exit(4)
"""
STDIO = SERVER + 'server.run("stdio")\n'
HTTP = (
    SERVER
    + """
import socket, uvicorn
from starlette.responses import PlainTextResponse
inner = server.streamable_http_app()

async def app(scope, receive, send):
    if scope["type"] == "http":
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        print(json.dumps({"path": scope["path"], "headers": headers}), file=sys.stderr, flush=True)
        if headers.get("x-key") != "a-key-for-books":
            return await PlainTextResponse("no", 401)(scope, receive, send)
        if scope["path"] == "/moved":
            return await PlainTextResponse("", 307, {"location": "/mcp"})(scope, receive, send)
        # The library answers no other name, whatever it listens on.
        hosts = [(name, b"127.0.0.1:1" if name == b"host" else value) for name, value in scope["headers"]]
        scope = {**scope, "headers": hosts}
    await inner(scope, receive, send)

listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listening])
"""
)


def test_a_server_of_the_mcp_package_is_used(site: Site) -> None:
    (site.world.folder / "library.py").write_text(STDIO)
    site.servers.append({"id": "library", "command": sys.executable, "args": ["library.py"], "prefix": "lib"})
    ran = site.run(("lib_find", {"title": "bees"}), ("lib_count", {}), ("lib_find", {"limit": 1}), ("lib_end", {}))
    assert ran.error is None, ran.error
    found, counted, wrong, ended = site.results()
    assert "3 books like bees" in found
    assert '"books":7' in counted.replace(" ", "")
    assert "invalid_input" in wrong
    assert re.search(r"\b4\b", ended)


KEY = {"X-Key": "a-key-for-books"}
Serve = Callable[..., tuple[str, subprocess.Popen[str]]]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    folder = tmp_path_factory.mktemp("library")
    (folder / "library.py").write_text(HTTP)
    begun: list[subprocess.Popen[str]] = []

    def serve(port: int = 0) -> tuple[str, subprocess.Popen[str]]:
        log = (folder / "log").open("a")
        with log:
            process = subprocess.Popen(
                [sys.executable, "library.py", str(port)],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "LOG": str(folder / "log")},
            )
        begun.append(process)
        assert process.stdout is not None
        return f"http://127.0.0.1:{int(process.stdout.readline())}/mcp", process

    serve.log = folder / "log"  # type: ignore[attr-defined]
    yield serve
    for process in begun:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="module")
def library(serving: Serve) -> str:
    return serving()[0]


def at(site: Site, url: str, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> dict[str, Any]:
    monkeypatch.setenv("LIBRARY_KEY", "a-key-for-books")
    site.servers.append({"id": "library", "url": url, "headers": {"X-Key": "${secrets.LIBRARY_KEY}"}, **settings})
    return {"env": {"secrets": [{"key": "LIBRARY_KEY"}]}}


def seen(serving: Serve) -> list[dict[str, Any]]:
    log: Path = serving.log  # type: ignore[attr-defined]
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def test_a_server_over_http_is_used_with_its_headers(
    site: Site, serving: Serve, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = at(site, library, monkeypatch)
    ran = site.run(("find", {"title": "bees"}), ("count", {}), more=more)
    assert ran.error is None, ran.error
    assert "3 books like bees" in site.results()[0]
    assert '"books":7' in site.results()[1].replace(" ", "")
    assert {request["headers"].get("x-key") for request in seen(serving)} == {"a-key-for-books"}
    assert "a-key-for-books" not in str(site.world.requests)


@pytest.mark.parametrize(
    ("headers", "path", "says"),
    [({"X-Key": "wrong"}, "/mcp", "HTTP 401"), (None, "/moved", "HTTP 30")],
)
def test_a_server_that_refuses_is_named(
    site: Site, library: str, headers: Any, path: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = at(site, library.replace("/mcp", path), monkeypatch, **({"headers": headers} if headers else {}))
    ran = site.run(more=more)
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.NOT_EQUIPPED
    assert "'library'" in ran.error.message
    assert says in ran.error.message


def test_an_address_without_a_server_is_reported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    more = at(site, "http://127.0.0.1:9/mcp", monkeypatch)
    ran = site.run(more=more)
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.NOT_EQUIPPED
    assert "'library'" in ran.error.message


def resolving(monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]) -> list[str]:
    """Answer names from a table, one address after another, as a resolver of an attacker may; return what was asked."""
    import socket

    real, asked = socket.getaddrinfo, []

    def look_up(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if host not in names:
            return real(host, port, *rest, **named)
        asked.append(host)
        address = names[host].pop(0) if len(names[host]) > 1 else names[host][0]
        return real(address, port, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_a_public_name_that_leads_to_this_machine_is_not_connected_to(
    site: Site, serving: Serve, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, {"mcp.example.com": ["127.0.0.1"]})
    before, port = len(seen(serving)), library.rpartition(":")[2].partition("/")[0]
    site.servers.append({"id": "library", "url": library.replace("127.0.0.1", "mcp.example.com"), "headers": KEY})
    ran = site.run()
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.NOT_EQUIPPED
    assert len(seen(serving)) == before
    # What the message says ends it.
    opening, *_ = re.findall(r"`(allow_private: .*?)`", ran.error.message)
    assert opening == f"allow_private: ['127.0.0.1:{port}']"
    site.servers[0].update(read_yaml(opening))
    ran = site.run(("find", {"title": "bees"}))
    assert ran.error is None, ran.error
    assert "3 books like bees" in site.results()[0]


def test_a_name_that_changes_its_address_during_the_run_is_left(
    site: Site, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolving(monkeypatch, {"mcp.internal": ["127.0.0.1", "127.0.0.1", "127.0.0.1", "169.254.169.254"]})
    site.servers.append({"id": "library", "url": library.replace("127.0.0.1", "mcp.internal"), "headers": KEY})
    ran = site.run(("find", {"title": "bees"}), ("find", {"title": "ants"}))
    assert len(asked) > 3
    assert "169.254.169.254 is not a public address (metadata)" in str(ran.error or site.results())


def test_proxies_and_passwords_of_the_environment_are_not_used(
    site: Site, serving: Serve, library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    settings = McpServer(id="library", url=library, headers=KEY)
    assert sorted(asyncio.run(tools_of(settings, tmp_path))) == ["count", "end", "find", "flood"]
    assert not any("authorization" in request["headers"] for request in seen(serving))


async def tools_of(settings: McpServer, folder: Path) -> list[str]:
    server = mcp_server.Server(settings, folder, {})
    await server.start()
    await server.stop()
    return list(server.tools)


@contextlib.contextmanager
def relaying(origin: str) -> Iterator[int]:
    """Serve as a proxy to one origin: full addresses become paths; yield the port."""
    whole = f"http://library.example.com:{origin.split(':')[1]}/".encode()
    opened: list[asyncio.StreamWriter] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        inner = await asyncio.open_connection(*origin.split(":"))
        opened.append(inner[1])

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(65_536):
                    sink.write(data.replace(whole, b"/"))
                    await sink.drain()
            sink.close()

        await asyncio.gather(pump(reader, inner[1]), pump(inner[0], writer))

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(relay, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def end() -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for writer in opened:  # or the garbage collector finds them, and a later test is blamed
            writer.transport.abort()
        await asyncio.sleep(0.01)

    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.parametrize(
    ("name", "opened", "works"),
    [("127.0.0.1", "", True), ("proxy.example.com", "", False), ("proxy.example.com", "127.0.0.0/8:*", True)],
)
def test_a_server_is_reached_through_the_proxy_that_it_names(
    name: str, opened: str, works: bool, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, {"proxy.example.com": ["127.0.0.1"]})
    allowed = {"allow_private": [opened]} if opened else {}
    url = library.replace("127.0.0.1", "library.example.com")  # which only the proxy finds
    with relaying(library.split("/")[2]) as port:
        settings = McpServer(id="library", url=url, headers=KEY, proxy=f"http://{name}:{port}", **allowed)
        if works:
            assert "find" in asyncio.run(tools_of(settings, tmp_path))
            return
        with pytest.raises(NotEquipped, match=r"its proxy cannot be used: .* is not a public address"):
            asyncio.run(tools_of(settings, tmp_path))


def test_a_server_that_never_answers_over_http_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket
    import time

    monkeypatch.setattr(mcp_server, "GIVE_UP_S", 60.0)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        more = at(site, f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", monkeypatch, startup_timeout=0.4)
        ran = site.run(more=more)
    assert ran.error is not None
    assert "0.4 s" in ran.error.message
    assert time.monotonic() - began < mcp_server.GIVE_UP_S, "the connection was not broken off"


def test_a_flood_over_http_is_cut_off(site: Site, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from strands_cli.tools.mcp import transports as mcp_http

    monkeypatch.setattr(mcp_http, "MAX_MESSAGE_BYTES", 100_000)
    more = at(site, library, monkeypatch)
    ran = site.run(("flood", {}), ("find", {"title": "bees"}), more=more)
    assert ran.error is None, ran.error
    assert "100,000" in site.results()[0]
    assert "3 books like bees" in site.results()[1]


def test_a_server_over_http_that_dies_is_found_again(
    site: Site, serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = serving()
    plain = site.world.answer

    def answer(request: dict[str, Any]) -> Any:
        if len(site.world.requests) == 2:
            serving(int(url.partition(":")[2].partition(":")[2].partition("/")[0]))
        return plain(request)

    site.world.answer = answer  # type: ignore[method-assign]
    more = at(site, url, monkeypatch)
    ran = site.run(("end", {}), ("find", {"title": "bees"}), more=more)
    assert ran.error is None, ran.error
    assert "unavailable" in site.results()[0]
    assert "3 books like bees" in site.results()[1]
