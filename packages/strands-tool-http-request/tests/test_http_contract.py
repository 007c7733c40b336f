"""What every tool must do, these tools do; needs strands-cli, which the tools themselves do not."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

import pytest

from strands_tool_kit.loopback import moved, reply

testing = pytest.importorskip("strands_cli_dev")

models = pytest.importorskip("strands.models")


class _NoModel(models.Model):  # type: ignore[name-defined, misc]
    """A model that is never asked: the agent only calls its tool directly."""

    stateful = False

    def update_config(self, **given: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *given: Any, **more: Any) -> Any: ...

    def stream(self, *given: Any, **more: Any) -> Any: ...


class OnLoopback(testing.ToolContract):  # type: ignore[name-defined, misc]
    """A server with a page, a redirect and a hidden address."""

    extra: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls, start_server: Any) -> None:
        server = start_server()
        server.answers |= {
            "/a": reply("<h1>A</h1><p>first", content_type="text/html"),
            "/b": reply("second", content_type="text/plain"),
            "/c": moved("http://169.254.169.254/"),
        }
        cls.config = {"allow_private": [f"127.0.0.1:{server.port}"]}
        cls.examples = (
            {"url": server.url("/a"), **cls.extra},
            {"url": server.url("/b"), **cls.extra},
            testing.Example({"url": server.url("/c"), **cls.extra}, status="error"),
            testing.Example({"url": "http://127.0.0.1:1/", **cls.extra}, status="error"),
        )

    @testing.contract_exception("without configuration no loopback server may be reached, so a plain agent is refused")
    def test_a_plain_agent_can_call_it(self) -> None: ...

    def test_a_plain_agent_is_refused_the_loopback(self) -> None:
        from strands import Agent

        module = importlib.import_module(self.tool)
        agent = Agent(model=object.__new__(_NoModel), tools=[module], callback_handler=None)
        name = module.TOOL_SPEC["name"]
        result = getattr(agent.tool, name)(record_direct_tool_call=False, **self.examples[0])
        error = result["content"][-1]["json"]["error"]
        assert (result["status"], error["code"], error["details"]["reason"]) == ("error", "denied", "address")


class TestHttpRequest(OnLoopback):
    tool = "strands_tool_http_request.http_request"
    extra: ClassVar[dict[str, Any]] = {"method": "GET"}


class TestWebFetch(OnLoopback):
    tool = "strands_tool_http_request.web_fetch"


class TestHttpExecutor(testing.ToolContract):  # type: ignore[name-defined, misc]
    tool = "strands_tool_http_request.http_executor"

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls, start_server: Any) -> None:
        server = start_server()
        server.answers |= {
            "/v1/a": reply('{"a": 1}', content_type="application/json"),
            "/v1/b": reply("second", content_type="text/plain"),
        }
        cls.config = {"base_url": server.url("/v1")}
        cls.examples = (
            {"method": "GET", "path": "/a"},
            {"method": "GET", "path": "/b", "query": {"x": 1}},
            testing.Example({"method": "GET", "path": "/../a"}, status="error"),
        )

    @testing.contract_exception(
        "without configuration there is no service, so a plain agent gets an error that says so"
    )
    def test_a_plain_agent_can_call_it(self) -> None: ...

    def test_without_configuration_it_says_what_is_missing(self) -> None:
        import asyncio

        module = importlib.import_module(self.tool)
        use = {"toolUseId": "u", "name": "http_executor", "input": {"path": "/a"}}
        result = asyncio.run(module.http_executor(use))
        error = result["content"][-1]["json"]["error"]
        assert (result["status"], error["code"], error["details"]["reason"]) == ("error", "unavailable", "config")
