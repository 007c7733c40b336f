"""A server on loopback that replaces the search services, and calls of the tools against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from strands_tool_kit.loopback import LoopbackServer, Play, loopback_servers, reply
from strands_tool_kit.testing import ToolAnswer, call_tool
from strands_tool_web_search import duckduckgo_search, tavily_search

RECORDED = Path(__file__).with_name("recorded")
KEY = "tvly-0123456789abcdef"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., LoopbackServer]]:
    with loopback_servers() as start:
        yield start


@dataclass
class Room:
    """A server in place of both services, and the two tools."""

    reply = staticmethod(reply)
    recorded = staticmethod(recorded)
    key = KEY

    server: LoopbackServer
    config: dict[str, Any]
    extra: dict[str, Any]

    def answers(self, *answers: bytes | str | Play) -> None:
        self.server.in_turn[:] = [reply(one) if isinstance(one, str) else one for one in answers]

    def call(self, tool: Callable[..., Any], **given: Any) -> ToolAnswer:
        return call_tool(tool, given, config=self.config, **self.extra)

    def duck(self, query: str = "asyncio timeout", **given: Any) -> ToolAnswer:
        return self.call(duckduckgo_search.duckduckgo_search, query=query, **given)

    def news(self, query: str = "honey", **given: Any) -> ToolAnswer:
        return self.duck(query, search_type="news", **given)

    def tavily(self, query: str = "exchange rate of the euro", **given: Any) -> ToolAnswer:
        return self.call(tavily_search.tavily_search, query=query, **given)

    def both(self, name: str) -> ToolAnswer:
        return self.duck() if name == "duck" else self.tavily()


@pytest.fixture(scope="session")
def _shared(start_server: Callable[..., LoopbackServer]) -> LoopbackServer:
    return start_server()


@pytest.fixture
def room(_shared: LoopbackServer) -> Room:
    _shared.forget()
    return Room(_shared, {"base_url": _shared.url(), "timeout_s": 5}, {"secrets": {"TAVILY_API_KEY": KEY}})
