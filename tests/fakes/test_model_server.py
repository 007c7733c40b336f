"""The loopback model server answers real clients as its script says, and records what they sent."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.fakes.model_server import ModelServer, Turn

CLONE = Path(__file__).parent.parent.parent
ADD = ("add", {"a": 2, "b": 3, "note": "long enough to be streamed in several fragments"})
HELLO: list[Any] = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def client_of(server: ModelServer) -> Any:
    return openai.OpenAI(base_url=server.url, api_key="any", max_retries=0)


def stream(server: ModelServer, **more: Any) -> Iterator[Any]:
    with client_of(server) as client:
        yield from client.chat.completions.create(
            model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}, **more
        )


def test_a_whole_answer_has_text_calls_and_usage() -> None:
    with ModelServer([Turn("thinking", calls=[ADD], usage=(11, 7))]) as server, client_of(server) as client:
        answer = client.chat.completions.create(model="m", messages=HELLO)
    message = answer.choices[0].message
    assert (message.content, answer.choices[0].finish_reason) == ("thinking", "tool_calls")
    assert json.loads(message.tool_calls[0].function.arguments) == ADD[1]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (11, 7, 18)


def test_a_streamed_answer_puts_together_to_the_same() -> None:
    text = "a text that is longer than one chunk of the stream"
    with ModelServer([Turn(text, calls=[ADD, ("other", {})], usage=(11, 7))]) as server:
        chunks = list(stream(server))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == text
    fragments = [call for delta in deltas for call in delta.tool_calls or []]
    first = [call for call in fragments if call.index == 0]
    assert len(first) > 2
    assert json.loads("".join(call.function.arguments or "" for call in first)) == ADD[1]
    assert [call.function.name for call in fragments if call.id] == ["add", "other"]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens == 18


def test_usage_is_streamed_only_where_it_is_asked_for() -> None:
    with ModelServer() as server, client_of(server) as client:
        chunks = list(client.chat.completions.create(model="m", messages=HELLO, stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


@pytest.mark.parametrize("streaming", [False, True])
def test_the_responses_interface_gives_text_and_calls(streaming: bool) -> None:
    with ModelServer([Turn("some words", calls=[ADD], usage=(3, 4))]) as server, client_of(server) as client:
        if streaming:
            events = list(client.responses.create(model="m", input="hello", stream=True))
            answer = events[-1].response
            texts = [event.delta for event in events if event.type == "response.output_text.delta"]
            assert "".join(texts) == "some words"
        else:
            answer = client.responses.create(model="m", input="hello")
    message, call = answer.output
    assert message.content[0].text == "some words"
    assert (call.name, json.loads(call.arguments)) == ADD
    assert answer.usage.total_tokens == 7


def test_turns_are_played_in_order_and_an_exhausted_script_is_loud() -> None:
    with ModelServer([Turn("one"), Turn("two")]) as server, client_of(server) as client:
        texts = [client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content for _ in "12"]
        assert (texts, server.remaining) == (["one", "two"], 0)
        with pytest.raises(openai.InternalServerError, match="the script is exhausted: request 3, 2 turns"):
            client.chat.completions.create(model="m", messages=HELLO)


def test_a_repeated_script_begins_again() -> None:
    with ModelServer([Turn("one"), Turn("two")], repeat=True) as server, client_of(server) as client:
        texts = [client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content for _ in "123"]
    assert texts == ["one", "two", "one"]


def test_a_function_answers_by_the_request_and_its_mistakes_reach_the_client() -> None:
    def answer(request: dict[str, Any]) -> Turn:
        return Turn(request["messages"][-1]["content"].upper()) if "temperature" in request else Turn(request["none"])

    with ModelServer(answer) as server, client_of(server) as client:
        said = client.chat.completions.create(model="m", messages=HELLO, temperature=0)
        assert said.choices[0].message.content == "HELLO"
        with pytest.raises(openai.InternalServerError, match="KeyError"):
            client.chat.completions.create(model="m", messages=HELLO)


def test_without_a_script_equal_requests_get_equal_answers() -> None:
    with ModelServer() as server, client_of(server) as client:
        first, second = (client.chat.completions.create(model="m", messages=HELLO) for _ in range(2))
        tool = client.chat.completions.create(
            model="m", messages=[*HELLO, {"role": "tool", "tool_call_id": "x", "content": "5"}]
        )
    assert first.choices == second.choices
    assert first.choices[0].message.content == "The user said: hello"
    assert tool.choices[0].message.content == "The tool said: 5"


@pytest.mark.parametrize(("status", "error"), [(429, openai.RateLimitError), (500, openai.InternalServerError)])
def test_a_failing_turn_answers_with_its_status_body_and_headers(
    status: int, error: type[openai.APIStatusError]
) -> None:
    turn = Turn(status=status, body={"error": {"message": "come back later"}}, headers={"retry-after": "1"})
    with ModelServer([turn]) as server, pytest.raises(error, match="come back later") as caught:
        list(stream(server))
    assert caught.value.response.headers["retry-after"] == "1"


def test_a_malformed_turn_is_not_json() -> None:
    with ModelServer([Turn("text", malformed=True)] * 2) as server, client_of(server) as client:
        with pytest.raises(json.JSONDecodeError):
            list(stream(server))
        with pytest.raises(json.JSONDecodeError):
            client.chat.completions.create(model="m", messages=HELLO)


def test_a_dropped_stream_ends_after_so_many_chunks() -> None:
    with ModelServer([Turn("a text of several chunks, more than two", drop_after_chunks=2)]) as server:
        seen: list[str | None] = []
        with pytest.raises(httpx.RemoteProtocolError):
            seen.extend(chunk.choices[0].delta.content for chunk in stream(server))
        # The client may meet the end before it has handed on the last chunk it received.
        assert seen == ["", "a text of severa"][: len(seen)]


def test_a_dropped_whole_answer_is_cut() -> None:
    with ModelServer([Turn("text", drop_after_chunks=0)]) as server:
        connection = HTTPConnection("127.0.0.1", httpx.URL(server.url).port)
        connection.request("POST", "/v1/chat/completions", json.dumps({"messages": HELLO}))
        with pytest.raises(IncompleteRead):
            connection.getresponse().read()
        connection.close()


def test_a_delayed_turn_comes_later() -> None:
    with ModelServer([Turn("late", delay_s=0.05)]) as server:
        start = time.monotonic()
        list(stream(server))
        assert time.monotonic() - start >= 0.05


def test_requests_to_any_path_are_recorded() -> None:
    with ModelServer() as server, httpx.Client() as client:
        assert client.get(f"{server.url}/models").json()["data"][0]["id"] == "scripted"
        assert client.post(f"{server.host}/elsewhere?x=1", json={"a": 1}, headers={"X-Key": "v"}).status_code == 404
        assert client.post(f"{server.url}/chat/completions", content=b"not json").status_code == 400
    assert [(r.method, r.path, r.json) for r in server.requests] == [
        ("GET", "/v1/models", None),
        ("POST", "/elsewhere?x=1", {"a": 1}),
        ("POST", "/v1/chat/completions", None),
    ]
    assert server.requests[1].headers["x-key"] == "v"
    assert server.model_requests == [{"a": 1}]


def test_a_waiting_answer_holds_up_no_other_also_inside_a_running_loop() -> None:
    def answer(request: dict[str, Any]) -> Turn:
        number = request["messages"][0]["content"]
        return Turn(number, delay_s=0.3 if number == "0" else 0)

    async def ask() -> list[str]:
        finished: list[str] = []

        async def one(client: Any, number: int) -> None:
            content = [{"role": "user", "content": str(number)}]
            answer = await client.chat.completions.create(model="m", messages=content)
            finished.append(answer.choices[0].message.content)

        with ModelServer(answer) as server:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="any") as client:
                await asyncio.gather(*(one(client, number) for number in range(20)))
        return finished

    finished = asyncio.run(ask())
    assert finished[-1] == "0"
    assert sorted(finished, key=int) == [str(number) for number in range(20)]


def test_a_server_of_its_own_process_prints_one_line_and_ends_with_its_input(tmp_path: Path) -> None:
    script, record = tmp_path / "turns.json", tmp_path / "requests.jsonl"
    script.write_text(json.dumps([{"calls": [["add", {"a": 1}]]}, {"text": "done", "usage": [1, 2]}]))
    command = [sys.executable, "-m", "tests.fakes.model_server", "--script", str(script), "--record", str(record)]
    with subprocess.Popen(command, cwd=CLONE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        client: Any
        with openai.OpenAI(base_url=url, api_key="any") as client:
            called = client.chat.completions.create(model="m", messages=HELLO).choices[0].message.tool_calls
            said = client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content
        rest, _ = process.communicate(timeout=120)
    assert (called[0].function.name, said, rest, process.returncode) == ("add", "done", "", 0)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["json"]["messages"] for line in lines] == [HELLO, HELLO]


def test_a_server_of_its_own_process_ends_when_its_time_is_up() -> None:
    command = [sys.executable, "-m", "tests.fakes.model_server", "--max-seconds", "0.1"]
    with subprocess.Popen(command, cwd=CLONE, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.wait(timeout=120) == 0


def connected_to(server: ModelServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.host.rpartition(":")[2])))


def test_a_server_leaves_no_late_connection_and_no_unread_answer_open() -> None:
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        for _ in range(10):
            with ModelServer() as server:
                clients = [connected_to(server) for _ in range(8)]
            for client in clients:
                client.close()
        body = b'{"messages": []}'
        asked = threading.Event()

        def large(_: dict[str, Any]) -> Turn:
            asked.set()
            return Turn("x" * 9_000_000)

        with ModelServer(large) as server, connected_to(server) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            assert asked.wait(60)
            client.recv(1)
        gc.collect()
    assert [one.message for one in left if issubclass(one.category, ResourceWarning)] == []
