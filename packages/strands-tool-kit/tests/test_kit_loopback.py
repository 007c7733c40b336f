"""What the tests of tools are made with: a server that answers as scripted, and calls as a host makes them."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from strands_tool_kit import CallContext, ToolError, answer, answer_async
from strands_tool_kit.loopback import LoopbackRequest, LoopbackServer, loopback_servers, moved, reply, trickle
from strands_tool_kit.testing import call_tool


@pytest.fixture(scope="module")
def shared() -> Iterator[LoopbackServer]:
    with loopback_servers() as start:
        yield start()


@pytest.fixture
def server(shared: LoopbackServer) -> LoopbackServer:
    shared.forget()
    return shared


def test_a_path_has_its_answer_and_any_other_is_not_found(server: LoopbackServer) -> None:
    server.answers |= {"/a": reply("grüße", content_type="text/plain; charset=utf-8"), "/b": moved("/a", "308 Moved")}
    with httpx.Client(trust_env=False) as client:
        found = client.get(server.url("/a?x=1"))
        assert (found.status_code, found.text, found.headers["content-type"][:10]) == (200, "grüße", "text/plain")
        assert client.get(server.url("/b"), follow_redirects=True).text == "grüße"
        assert client.get(server.url("/c")).status_code == 404
    assert [asked.target for asked in server.asked] == ["/a?x=1", "/b", "/a", "/c"]


def test_answers_in_turn_come_whatever_the_path_and_the_last_again(server: LoopbackServer) -> None:
    server.in_turn[:] = [reply("one"), reply("two")]
    with httpx.Client(trust_env=False) as client:
        assert [client.get(server.url(path)).text for path in ("/a", "/b", "/a")] == ["one", "two", "two"]
    server.forget()
    assert server.asked == []
    assert httpx.get(server.url(), trust_env=False).status_code == 404


def test_a_request_is_recorded_with_what_was_sent(server: LoopbackServer) -> None:
    with httpx.Client(trust_env=False) as client:
        client.post(server.url("/form"), data={"q": "a b", "empty": ""}, headers={"X-Key": "k"})
        client.put(server.url("/json"), json={"a": [1]})
    form, document = server.asked
    assert (form.method, form.form, form.headers["x-key"]) == ("POST", {"q": "a b", "empty": ""}, "k")
    assert (document.method, document.json, document.port) == ("PUT", {"a": [1]}, server.port)


def test_a_function_sees_that_the_client_hangs_up(server: LoopbackServer) -> None:
    hung_up = threading.Event()

    async def play(asked: LoopbackRequest, writer: Any) -> None:
        assert not await asked.hung_up_within(0.01)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        if await asked.hung_up_within(30):
            hung_up.set()

    server.answers["/"] = play
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert client.recv(8) == b"HTTP/1.1"
    assert hung_up.wait(30)


def test_a_trickle_has_no_end_of_its_own(server: LoopbackServer) -> None:
    server.answers["/"] = trickle(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n")
    with socket.create_connection(("127.0.0.1", server.port)) as client, client.makefile("rb") as lines:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert [lines.readline() for _ in range(4)] == [b"HTTP/1.1 200 OK\r\n", *[b"a: b\r\n"] * 3]


def shout(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    def work() -> tuple[str, dict[str, Any]]:
        if not tool["input"]["text"]:
            raise ToolError("invalid_input", "there is no text", retryable=True, reason="missing")
        text = tool["input"]["text"].upper() + CallContext.of(kwargs).config["end"]
        return text, {"text": text}

    return answer(tool, work)


async def shout_later(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    async def work() -> tuple[str, dict[str, Any]]:
        return "later", {"name": tool["name"]}

    return await answer_async(tool, work)


def test_a_call_gives_the_parts_of_a_result() -> None:
    done = call_tool(shout, {"text": "a"}, config={"end": "!"})
    assert (done.status, done.text, done.value) == ("success", "A!", {"text": "A!"})
    assert call_tool(shout_later, {}).value == {"name": "shout_later"}


def test_a_call_that_fails_gives_code_reason_and_whether_to_retry() -> None:
    refused = call_tool(shout, {"text": ""})
    assert (refused.error, refused.is_retryable) == (("invalid_input", "missing"), True)
    with pytest.raises(AssertionError):
        _ = call_tool(shout_later, {}).error


@pytest.mark.parametrize("request_line", [b"GET / HTTP/1.1\r\n\r\n", b""], ids=["asked", "silent"])
def test_a_connection_without_its_whole_answer_ends_with_the_servers(request_line: bytes) -> None:
    begun = threading.Event()

    async def wait(asked: LoopbackRequest, writer: asyncio.StreamWriter) -> None:
        begun.set()
        await asyncio.sleep(30)

    # A later test would be blamed for what the garbage collector finds open.
    with warnings.catch_warnings(record=True) as caught, socket.socket() as client:
        warnings.simplefilter("always", ResourceWarning)
        with loopback_servers() as start:
            server = start()
            server.in_turn = [wait]
            client.connect(("127.0.0.1", server.port))
            client.sendall(request_line)
            assert begun.wait(30 if request_line else 0.1) == bool(request_line)
        gc.collect()
    assert [str(one.message) for one in caught] == []
