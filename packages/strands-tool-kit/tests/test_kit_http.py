"""A tool made with the kit sends a request inside its policy, its deadline and its limits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from strands_tool_kit import CallContext, ToolError, answer_async, read_input
from strands_tool_kit.http import HttpRequest, Policy, UrlScope, exchange
from strands_tool_kit.http.transport import tls_context

SPEC: dict[str, Any] = {"name": "get", "inputSchema": {"json": {"properties": {"url": {"type": "string"}}}}}


class Handler(BaseHTTPRequestHandler):
    """Sends `/moved` to a metadata service, and everything else its own headers."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = str(self.headers).encode()
        self.send_response(302 if self.path == "/moved" else 200)
        if self.path == "/moved":
            self.send_header("location", "http://169.254.169.254/")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    Handler.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(120)


def call(url: str, **strands_cli: Any) -> dict[str, Any]:
    """Call a tool of a few lines, as an author would write it."""

    async def work() -> tuple[str, dict[str, Any]]:
        values = read_input({"input": {"url": url}}, SPEC)
        context = CallContext.of({"strands_cli": strands_cli})
        policy = Policy.of(context.config)
        response = await exchange(HttpRequest("GET", policy.require_url(values["url"]), {}), policy, context)
        return response.content.decode(), {"status": response.status}

    return asyncio.run(answer_async({"toolUseId": "1"}, work))


def error_of(result: dict[str, Any]) -> tuple[str, str]:
    error = result["content"][-1]["json"]["error"]
    return error["code"], error["details"]["reason"]


def test_what_the_operator_opened_is_reached(port: int) -> None:
    result = call(f"http://127.0.0.1:{port}/", config={"allow_private": [f"127.0.0.1:{port}"]})
    assert result["content"][-1]["json"] == {"status": 200}
    assert "user-agent: strands-tool-kit/" in result["content"][0]["text"].lower()


def test_without_configuration_this_machine_is_not_reached(port: int) -> None:
    assert error_of(call(f"http://127.0.0.1:{port}/")) == ("denied", "address")
    assert Handler.asked == []


def test_a_redirect_is_checked_like_a_url(port: int) -> None:
    config = {"allow_private": [f"127.0.0.1:{port}"]}
    assert error_of(call(f"http://127.0.0.1:{port}/moved", config=config)) == ("denied", "address")
    assert Handler.asked == ["/moved"]


def test_a_call_without_time_sends_nothing(port: int) -> None:
    config = {"allow_private": [f"127.0.0.1:{port}"]}
    cancelled = threading.Event()
    cancelled.set()
    assert error_of(call(f"http://127.0.0.1:{port}/", config=config, cancel=cancelled)) == ("cancelled", "cancelled")
    assert Handler.asked == []


def test_authorities_that_cannot_be_read_are_the_operators_to_correct() -> None:
    with pytest.raises(ToolError) as caught:
        tls_context("/nowhere/authorities.pem")
    assert (caught.value.code, caught.value.details["reason"]) == ("unavailable", "config")


@pytest.mark.parametrize("path", ["/../b", "/%2e%2e/b", "//b", "/a;/..;x/", "/a\\b", "/a%252e%252e%252fb/../"])
def test_no_path_leads_out_of_a_scope(path: str) -> None:
    scope = UrlScope.of("https://api.test/v1/")
    assert str(scope.url_of("/a/b")) == "https://api.test/v1/a/b"
    with pytest.raises(ToolError) as caught:
        scope.url_of(path)
    assert caught.value.details["reason"] == "path"
