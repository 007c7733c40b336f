"""Servers on loopback that say exactly what a test scripts, and calls of the tools against them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from strands_tool_http_request import http_request, web_fetch
from strands_tool_kit import resolve
from strands_tool_kit.loopback import LoopbackServer, loopback_servers, moved, reply
from strands_tool_kit.testing import ToolAnswer, call_tool


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., LoopbackServer]]:
    with loopback_servers() as start:
        yield start


@pytest.fixture(scope="session")
def _shared(start_server: Callable[..., LoopbackServer]) -> tuple[LoopbackServer, LoopbackServer]:
    return start_server(), start_server()


@dataclass
class Room:
    """A server that may be reached, another origin, and the two tools."""

    reply = staticmethod(reply)
    moved = staticmethod(moved)

    server: LoopbackServer
    other: LoopbackServer
    config: dict[str, Any]
    names: dict[str, list[str]]
    looked_up: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def call(self, tool: Callable[..., Any], **given: Any) -> ToolAnswer:
        return call_tool(tool, given, config=self.config, **self.extra)

    def request(self, url: str = "", **given: Any) -> ToolAnswer:
        return self.call(http_request.http_request, url=url or self.server.url(), **given)

    def fetch(self, url: str = "", **given: Any) -> ToolAnswer:
        return self.call(web_fetch.web_fetch, url=url or self.server.url(), **given)


@pytest.fixture
def room(_shared: tuple[LoopbackServer, LoopbackServer], monkeypatch: pytest.MonkeyPatch) -> Room:
    """Open exactly the two loopback servers, and answer names from a table of the test."""
    server, other = _shared
    for one in _shared:
        one.forget()
    private = [f"127.0.0.1:{one.port}" for one in _shared]
    found = Room(server, other, {"allow_private": private, "timeout_s": 5}, {})

    async def look_up(host: str, port: int) -> list[str]:
        found.looked_up.append(host)
        if host not in found.names:
            raise OSError("no such name in this test")
        return found.names[host]

    monkeypatch.setattr(resolve, "look_up", look_up)
    return found
