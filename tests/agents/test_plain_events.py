"""Pieces of a text that are known by their bytes: the client reads the same as where each event is read as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.agents.model.answer_faults import AnswerFault
from strands_cli.agents.model.call_parts import PLAIN_CHAT, PlainPieces
from strands_cli.agents.model.checked_transport import _stream_class
from strands_cli.agents.model.protocols import Chat
from strands_cli.agents.model.read_answer import ReadAnswer

ADDRESS = "http://127.0.0.1:9/v1/chat/completions"


def chunk(delta: dict[str, Any], reason: str | None = None, **others: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **others}


def event(value: Any, *, is_narrow: bool = True) -> bytes:
    separators = (",", ":") if is_narrow else (", ", ": ")
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=separators).encode() + b"\n\n"


PLAIN = [
    chunk({"content": "Hi"}),
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"content": 'a "quoted"\\ é 😀\n'}, usage=None, service_tier="default", obfuscation="xY"),
    chunk({"reasoning_content": "hm", "content": None}),
    {"choices": [{"finish_reason": None, "delta": {"content": "x"}, "index": 0}], "id": "c-1"},
]
OTHERS = [
    chunk({"content": "Hi"}, "stop"),
    chunk({"content": "Hi"}, "length"),
    chunk({"refusal": "no"}),
    chunk({"content": ["Hi"]}),
    chunk({"content": "Hi", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}),
    chunk({"content": "Hi"}, usage={"total_tokens": 3}),
    chunk({"content": "Hi"}, error={"message": "broken"}),
    {"choices": []},
    {"error": {"message": "broken"}},
]


@pytest.mark.parametrize("is_narrow", [True, False])
@pytest.mark.parametrize("value", PLAIN)
def test_a_piece_of_a_text_is_plain(value: Any, is_narrow: bool) -> None:
    assert PLAIN_CHAT.fullmatch(event(value, is_narrow=is_narrow) * 2)


@pytest.mark.parametrize("is_narrow", [True, False])
@pytest.mark.parametrize("value", OTHERS)
def test_what_has_more_to_say_is_not_plain(value: Any, is_narrow: bool) -> None:
    assert not PLAIN_CHAT.fullmatch(event(value, is_narrow=is_narrow))


@given(
    values=st.lists(
        st.sampled_from([*PLAIN, *OTHERS[:6], chunk({"reasoning_content": 'its "content": "x"', "content": "y"})])
        | st.text('ab"\\\n\x00é{}:,').map(lambda text: chunk({"content": text}))
        | st.text('a"\\').map(lambda text: chunk({"content": text, "role": '"content": "'}, obfuscation=text)),
        max_size=12,
    ),
    data=st.data(),
)
def test_pieces_in_a_row_are_known_as_each_by_itself(values: list[Any], data: st.DataObject) -> None:
    pieces = PlainPieces(PLAIN_CHAT)
    for value in values:
        sent = event(value) * data.draw(st.integers(1, 2))
        raw = data.draw(st.sampled_from([sent, sent.replace(b"\\", b""), sent.replace(b"ab", b'"')]))
        assert pieces.has(raw) == (PLAIN_CHAT.fullmatch(raw) is not None)


def passed_on(body: bytes, cuts: list[int], *, is_plain_known: bool) -> Any:
    """Return the events that the client gets of a body cut at these places, or the message of the fault."""
    with patch.object(Chat, "plain", PLAIN_CHAT if is_plain_known else None):
        reader = ReadAnswer("openai", ADDRESS, "text/event-stream")
        places = [0, *sorted(cuts), len(body)]
        try:
            parts = [reader.feed(body[start:end]) for start, end in pairwise(places)]
            whole = b"".join([*parts, reader.end()])
        except AnswerFault as fault:
            return fault.message
    lines = [line.removeprefix(b"data: ") for line in whole.split(b"\n") if line]
    return [line if line == b"[DONE]" else json.loads(line) for line in lines]


@given(
    values=st.lists(st.sampled_from(PLAIN + OTHERS[:6]), max_size=8),
    is_done=st.booleans(),
    data=st.data(),
)
def test_a_stream_reads_the_same_whether_its_plain_pieces_are_known_or_not(
    values: list[Any], is_done: bool, data: st.DataObject
) -> None:
    body = b"".join(map(event, values)) + (b"data: [DONE]\n\n" if is_done else b"")
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=6))
    assert passed_on(body, cuts, is_plain_known=True) == passed_on(body, cuts, is_plain_known=False)


class Body(httpx.AsyncByteStream):
    """A body of the HTTP library that tells whether it was closed."""

    is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"<html>"

    async def aclose(self) -> None:
        self.is_closed = True


def test_the_connection_of_another_body_is_closed_at_once() -> None:
    body = Body()
    response = httpx.Response(200, stream=body, request=httpx.Request("POST", ADDRESS))
    checked = _stream_class("httpx")(response, ReadAnswer("openai", ADDRESS, "text/html"))

    async def read() -> None:
        async for _ in checked:
            pass

    with pytest.raises(AnswerFault):
        asyncio.run(read())
    assert body.is_closed


def test_most_of_a_long_answer_is_passed_on_without_being_read() -> None:
    reader = ReadAnswer("openai", ADDRESS, "text/event-stream")
    reader.feed(event(PLAIN[1]))
    with patch.object(Chat, "read", side_effect=AssertionError):
        assert reader.feed(event(PLAIN[0]) * 3) == event(PLAIN[0]) * 3


def test_an_event_of_gemini_that_needs_no_change_is_passed_as_it_came() -> None:
    reader = ReadAnswer("gemini", "http://127.0.0.1:9/v1beta/models/m:streamGenerateContent", "text/event-stream")
    body = event({"candidates": [{"content": {"parts": [{"text": "Hi"}], "role": "model"}}]}, is_narrow=False)
    body += event({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]}, is_narrow=True)
    first, second = reader.feed(body).split(b"\n\n")[:2]
    assert body.startswith(first + b"\n\n")
    assert (
        json.loads(second.removeprefix(b"data: "))["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == {}
    )
