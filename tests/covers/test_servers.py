"""What the fields of MCP servers do: seen by the server that is started or reached, and by the model that is asked."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from strands_cli.errors import NotEquipped
from tests.covers.kit import Ran, World, covers
from tests.fakes.model_server import Turn
from tests.servers.conftest import PROGRAM, tool
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

SERVER = "/tools/mcp/*"


def run(world: World, settings: dict[str, Any], *calls: str, more: dict[str, Any] | None = None, **script: Any) -> Ran:
    """Run an agent that makes these calls, beside a server that is a program."""
    (world.folder / "docs.json").write_text(json.dumps({"tools": [tool("read"), tool("write")], **script}))
    # `env` alone prints its environment and ends.
    arguments = [sys.executable, str(PROGRAM), "docs.json", "docs.log"]
    server = {"id": "docs", "command": "env", "args": arguments, **settings}
    server = {name: value for name, value in server.items() if value is not None}
    world.turns = [*(Turn(calls=[(name, {})]) for name in calls), Turn("done")]
    return world.run(write_yaml({"tools": {"mcp": [server]}, **(more or {})}), yes=True)


def log(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world.folder / "docs.log").read_text().splitlines()]


@covers(f"{SERVER}/id")
def test_a_server_is_known_by_its_id(world: World) -> None:
    run(world, {}, more={"agents": {"a": {"prompt": "You help.", "tools": ["mcp:docs/write"]}}})
    assert world.tools(0) == ["write"]


def test_the_tools_of_a_server_are_loaded_by_name_like_others(world: World) -> None:
    (world.folder / "docs.json").write_text(json.dumps({"tools": [tool("read"), tool("write")]}))
    arguments = [str(PROGRAM), "docs.json", "docs.log"]
    world.turns = [Turn(calls=[("find_tool", {"names": ["write"]})]), Turn(calls=[("write", {})]), Turn("done")]
    servers = [{"id": "docs", "command": sys.executable, "args": arguments}]
    world.run(write_yaml({"tools": {"mcp": servers}, "runtime": {"tools_shown": "deferred"}}), yes=True)
    assert [world.tools(number) for number in range(3)] == [["find_tool"], *[["find_tool", "write"]] * 2]
    assert [line["called"] for line in log(world) if "called" in line] == ["write"]


@covers(f"{SERVER}/command", f"{SERVER}/args")
def test_a_server_is_this_program_with_these_arguments(world: World) -> None:
    run(world, {}, "read")
    assert [line["called"] for line in log(world) if "called" in line] == ["read"]


@covers(f"{SERVER}/env")
def test_a_server_has_these_environment_variables(world: World) -> None:
    run(world, {"env": {"SHELF": "bees"}})
    assert log(world)[0]["started"]["SHELF"] == "bees"


@covers(f"{SERVER}/prefix")
def test_a_prefix_comes_before_the_names(world: World) -> None:
    run(world, {"prefix": "d"})
    assert world.tools(0) == ["d_read", "d_write"]


@covers(f"{SERVER}/tools/allow")
def test_only_these_tools_are_offered(world: World) -> None:
    run(world, {"tools": {"allow": ["read"]}})
    assert world.tools(0) == ["read"]


@covers(f"{SERVER}/tools/deny")
def test_these_tools_are_not_offered(world: World) -> None:
    run(world, {"tools": {"deny": ["read"]}})
    assert world.tools(0) == ["write"]


@covers(f"{SERVER}/startup_timeout")
def test_a_server_has_so_long_to_start(world: World) -> None:
    ran = run(world, {"startup_timeout": 0.25}, silent=1)
    assert isinstance(ran.error, NotEquipped)
    assert "0.25 s" in ran.error.message


@contextlib.contextmanager
def shelf() -> Iterator[tuple[int, list[tuple[str, str | None]]]]:
    """Serve on loopback; give the port, and the target and the key of each request, which is refused."""
    heard: list[tuple[str, str | None]] = []

    class Shelf(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append((self.path, self.headers["X-Key"]))
            self.send_error(403)

        def log_message(self, *_words: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Shelf) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_port, heard
        finally:
            server.shutdown()


@covers(f"{SERVER}/url", f"{SERVER}/headers")
def test_a_server_is_reached_there_with_these_headers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELF_KEY", "a-key-for-the-shelf")
    with shelf() as (port, heard):
        address = f"http://127.0.0.1:{port}/shelf"
        settings = {"command": None, "args": None, "url": address, "headers": {"X-Key": "${secrets.SHELF_KEY}"}}
        run(world, settings, more={"env": {"secrets": [{"key": "SHELF_KEY"}]}})
    assert heard[0] == ("/shelf", "a-key-for-the-shelf")


@covers(f"{SERVER}/proxy")
def test_a_server_is_reached_by_way_of_the_proxy(world: World) -> None:
    with shelf() as (port, heard):
        address = "http://shelf.invalid/shelf"
        run(world, {"command": None, "args": None, "url": address, "proxy": f"http://127.0.0.1:{port}"})
    assert heard[0] == (address, None)


@covers(f"{SERVER}/allow_private")
def test_a_name_may_lead_to_this_private_network(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return real("127.0.0.1" if name == "shelf.example.com" else host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with shelf() as (port, heard):
        address = f"http://shelf.example.com:{port}/shelf"
        opened = [f"127.0.0.0/8:{port}"]
        run(world, {"command": None, "args": None, "url": address, "allow_private": opened})
    assert heard[0] == ("/shelf", None)


@covers("/context_policy/retrieval/mcp_servers")
def test_every_agent_has_the_servers_for_retrieval(world: World) -> None:
    more = {
        "agents": {"a": {"prompt": "You help.", "tools": []}},
        "context_policy": {"retrieval": {"mcp_servers": ["docs"]}},
    }
    run(world, {}, more=more)
    assert world.tools(0) == ["read", "write"]
