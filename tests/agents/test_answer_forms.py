"""Answers in the forms that some servers have for what an interface writes otherwise: used, or named in their words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.agents.test_answers import (
    COMPLETED,
    SMILE,
    STARTED,
    WELL,
    Call,
    anthropic,
    block,
    environment,
    gemini,
    per_provider,
    response,
    stopped,
    text_piece,
)
from tests.fakes.raw_server import DONE, JSON, LINES, Reply, chunk, event, line

pytestmark = [pytest.mark.hostile, pytest.mark.clients]

__all__ = ["environment"]
BOM = b"\xef\xbb\xbf"
ADD = {"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
USE = {"type": "tool_use", "id": "t", "name": "add", "input": {}}


def kind_of(provider: str) -> str:
    return LINES if provider == "ollama" else "text/event-stream"


def call_of(provider: str, *parts: bytes) -> Call:
    return Call(provider, Reply(parts, kind_of(provider)))


@pytest.mark.parametrize("provider", [one for one in WELL if one != "gemini"])
def test_a_byte_order_mark_belongs_to_no_answer(provider: str) -> None:
    first, *rest = WELL[provider].parts
    assert call_of(provider, BOM + first, *rest).text == "well"
    assert call_of(provider, BOM[:1], BOM[1:] + b"\n", first, *rest).text == "well"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "llamacpp"])
@pytest.mark.parametrize("end", [b"\r", b"\r\n"], ids=["cr", "crlf"])
def test_each_end_of_a_line_ends_it_wherever_the_stream_is_cut(provider: str, end: bytes) -> None:
    body = b"".join(WELL[provider].parts).replace(b"\n", end)
    assert call_of(provider, body).text == "well"
    assert call_of(provider, *(body[at : at + 1] for at in range(len(body)))).text == "well"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "llamacpp"])
def test_events_without_blank_lines_between_them_are_events(provider: str) -> None:
    assert call_of(provider, *(part.replace(b"\n\n", b"\n") for part in WELL[provider].parts)).text == "well"


def test_events_that_name_their_type_only_inside_are_read() -> None:
    parts = b"".join(WELL["anthropic"].parts).split(b"\n")
    assert call_of("anthropic", b"\n".join(one for one in parts if not one.startswith(b"event:"))).text == "well"


OLDER: dict[str, Sequence[bytes]] = {
    "in pieces": [
        chunk({"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a": '}}),
        chunk({"function_call": {"arguments": "1}"}}),
        chunk({}, "function_call"),
        DONE,
    ],
    "whole": [chunk({"function_call": {"name": "add", "arguments": '{"a": 1}'}}, "function_call"), DONE],
    "in a message": [
        event(
            {"choices": [{"message": {"function_call": {"name": "add", "arguments": '{"a": 1}'}}}]}
            | {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
        ),
        DONE,
    ],
}


@pytest.mark.parametrize("provider", ["openai", "llamacpp"])
@pytest.mark.parametrize("parts", OLDER.values(), ids=OLDER)
def test_the_older_form_of_a_call_is_a_call(provider: str, parts: Sequence[bytes]) -> None:
    assert call_of(provider, *parts).calls == [("add", {"a": 1})]


@pytest.mark.parametrize("provider", ["openai", "llamacpp"])
@pytest.mark.parametrize("reason", ["stop", "null", "length"])
def test_an_end_that_is_named_before_the_last_piece_cuts_nothing_off(provider: str, reason: str) -> None:
    pieces = [chunk({"content": "we"}, reason), chunk({"content": "ll"}, reason)]
    assert call_of(provider, *pieces, chunk({}, "stop"), DONE).text == "well"
    last = "stop" if reason == "null" else reason
    called = call_of(provider, *pieces, chunk({"tool_calls": [ADD]}, last), DONE)
    assert (called.text, called.calls) == ("well", [("add", {"a": 1})])


WITHOUT: dict[str, tuple[Sequence[bytes], str]] = {
    "openai": ([chunk({"content": ""}), chunk({}, "too_tired"), DONE], "(too_tired)"),
    "llamacpp": ([chunk({"content": ""}), chunk({}, "too_tired"), DONE], "(too_tired)"),
    "anthropic": ([STARTED, *stopped("too_tired")], "(too_tired)"),
    "ollama": ([line({"content": ""}, done=True, done_reason="load")], "(load)"),
    "gemini": ([gemini(None, "TOO_TIRED")], "(TOO_TIRED)"),
    "gemini unspecified": ([gemini(None, "FINISH_REASON_UNSPECIFIED")], "(FINISH_REASON_UNSPECIFIED)"),
    "openai thoughts": ([chunk({"reasoning_content": "so"}), chunk({}, "stop"), DONE], "only thoughts"),
    "openai_responses cancelled": ([text_piece("half"), response("cancelled", response={})], "(response.cancelled)"),
    "openai_responses incomplete": (
        [text_piece("half"), response("incomplete", response={"incomplete_details": {"reason": "too_tired"}})],
        "(too_tired)",
    ),
    "openai cancelled": ([chunk({"content": "half"}), chunk({}, "cancelled"), DONE], "(cancelled)"),
}


# The client of Gemini warns of a reason that it does not know.
@pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason:UserWarning")
@pytest.mark.parametrize(("provider", "case"), per_provider(WITHOUT))
def test_an_end_that_no_answer_has_is_named_with_the_servers_own_reason(
    provider: str, case: tuple[Sequence[bytes], str]
) -> None:
    parts, words = case
    call = call_of(provider, *parts)
    assert words in call.reason
    assert (call.row.status, len(call.requests)) == ("failed", 2)


def test_a_turn_that_is_paused_for_ever_is_named() -> None:
    assert "(pause_turn)" in call_of("anthropic", STARTED, *block("a"), *stopped("pause_turn")).reason


SAID: dict[str, tuple[Any, str, bool]] = {
    "base_resp": ({"base_resp": {"status_code": 1004, "status_msg": "wrong key"}}, "wrong key (1004)", False),
    "base_resp, busy": ({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, "rate limit (1002)", True),
    "base_resp, no credit": (
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
        "credit",
        False,
    ),
    "errors": (
        {"success": False, "result": None, "errors": [{"code": 7, "message": "no model"}]},
        "no model (7)",
        False,
    ),
    "errors as texts": ({"errors": ["no model"]}, "no model", False),
    "error in an error": ({"error": {"error": {"message": "no model"}}}, "no model", False),
    "error as a list": ({"error": [{"message": "no model"}]}, "no model", False),
    "error_msg": ({"error_code": 17, "error_msg": "no model"}, "no model (17)", False),
    "fault": ({"fault": {"faultstring": "no model", "detail": {"errorcode": "x"}}}, "no model", False),
    "detail": ({"detail": [{"loc": ["body"], "msg": "no model", "type": "missing"}]}, "no model (missing)", False),
    "object": ({"object": "error", "message": "no model", "code": 503}, "no model (503)", True),
    "code": ({"code": "InvalidModel", "message": "no model", "request_id": "1"}, "no model (InvalidModel)", False),
}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "llamacpp"])
@pytest.mark.parametrize(("body", "words", "again"), SAID.values(), ids=SAID)
def test_an_error_of_another_form_is_in_the_words_of_the_server(
    provider: str, body: Any, words: str, again: bool
) -> None:
    call = Call(provider, Reply([json.dumps(body).encode()], JSON))
    assert words in call.reason
    assert call.host in call.reason
    assert len(call.requests) == (2 if again else 1)
    streamed = call_of(provider, event(body, "error"))
    assert (words in streamed.reason, len(streamed.requests)) == (True, len(call.requests))


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama", "llamacpp"])
def test_a_text_between_the_events_is_named_and_tried_again(provider: str) -> None:
    text = b"upstream timed out\n" if provider == "ollama" else b"data: upstream timed out\n\n"
    call = call_of(provider, WELL[provider].parts[0], text)
    assert call.reason.endswith("upstream timed out")
    assert (call.host in call.reason, len(call.requests)) == (True, 2)
    empty = b"\n" if provider == "ollama" else b"data:\n\ndata: null\n\n"
    first, *rest = WELL[provider].parts
    assert call_of(provider, first, empty, *rest).text == "well"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "ollama", "llamacpp"])
def test_halves_of_a_character_that_are_bytes_are_joined(provider: str) -> None:
    body = b"".join(WELL[provider].parts)
    at = body.index(b"well")
    halves = [SMILE.encode("utf-16-be")[i : i + 2].decode("utf-16-be", "surrogatepass") for i in (0, 2)]
    raw = "".join(halves).encode("utf-8", "surrogatepass")
    assert call_of(provider, body[:at] + raw[:4], raw[4:] + body[at + 4 :]).text == SMILE


def begun(index: int, **more: Any) -> bytes:
    return anthropic("content_block_start", index=index, content_block={**USE, **more})


def given(index: int, text: str) -> bytes:
    return anthropic("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": text})


def ended(index: int) -> bytes:
    return anthropic("content_block_stop", index=index)


BLOCKS: dict[str, tuple[Sequence[bytes], list[Any]]] = {
    "input at the start": ([begun(0, input={"a": 1}), ended(0)], [("add", {"a": 1})]),
    "input as text at the start": ([begun(0, input='{"a": 1}'), ended(0)], [("add", {"a": 1})]),
    "input twice": ([begun(0, input={"a": 1}), given(0, '{"a": 1}'), ended(0)], [("add", {"a": 1})]),
    "in turn": (
        [begun(0), begun(1, name="mul"), given(0, '{"a": 1}'), given(1, '{"b": 2}'), ended(1), ended(0)],
        [("add", {"a": 1}), ("mul", {"b": 2})],
    ),
    "three in turn": (
        [begun(0), begun(1), begun(2), *(given(i, f'{{"a": {i}}}') for i in (2, 1, 0)), ended(2), ended(1), ended(0)],
        [("add", {"a": 0}), ("add", {"a": 1}), ("add", {"a": 2})],
    ),
    "never ended": ([begun(0), given(0, '{"a": 1}'), begun(1), given(1, "{}")], [("add", {"a": 1}), ("add", {})]),
    "one number": ([begun(0), given(0, '{"a": 1}'), begun(0), given(0, "{}")], [("add", {"a": 1}), ("add", {})]),
    "half a character": (
        [begun(0), given(0, '{"a": "\ud83d'), given(0, '\ude00"}'), ended(0)],
        [("add", {"a": SMILE})],
    ),
}


@pytest.mark.parametrize(("parts", "calls"), BLOCKS.values(), ids=BLOCKS)
def test_the_calls_of_an_anthropic_message_are_those_that_its_blocks_have(
    parts: Sequence[bytes], calls: list[Any]
) -> None:
    assert call_of("anthropic", STARTED, *parts, *stopped("tool_use")).calls == calls


def test_a_text_that_begins_with_its_block_or_has_no_begin_is_whole() -> None:
    start = {"type": "text", "text": "we"}
    assert call_of("anthropic", STARTED, *block("ll", start=start), *stopped()).text == "well"
    assert call_of("anthropic", STARTED, block("well")[1], *stopped()).text == "well"
    assert "mixed the parts" in call_of("anthropic", STARTED, given(0, "{}"), *stopped("tool_use")).reason


def ollama_call(arguments: Any) -> list[bytes]:
    call = {"function": {"name": "add", **({"arguments": arguments} if arguments is not ... else {})}}
    return [line({"content": None, "tool_calls": [call]}), line({"content": None}, done=True, done_reason="stop")]


TWICE = {**ADD, "function": {"name": "add", "arguments": json.dumps(json.dumps({"a": 1}))}}
BARE = {"content": {"role": "model", "parts": [{"functionCall": {"name": "add"}}]}, "finishReason": "STOP"}
GIVEN: dict[str, tuple[Sequence[bytes], Any]] = {
    "ollama text": (ollama_call('{"a": 1}'), {"a": 1}),
    "ollama null": (ollama_call(None), {}),
    "ollama none": (ollama_call(...), {}),
    "openai twice": ([chunk({"tool_calls": [TWICE]}), DONE], {"a": 1}),
    "gemini none": ([event({"candidates": [BARE]})], {}),
}


@pytest.mark.parametrize(("provider", "case"), per_provider(GIVEN))
def test_arguments_are_an_object_however_they_are_written(provider: str, case: tuple[Sequence[bytes], Any]) -> None:
    parts, arguments = case
    assert call_of(provider, *parts).calls == [("add", arguments)]


def test_arguments_of_ollama_that_are_no_object_are_named() -> None:
    call = call_of("ollama", *ollama_call("add one"))
    assert (len(call.requests), "cannot be read" in call.reason) == (2, True)


FUNCTION = {"type": "function_call", "id": "f", "call_id": "c", "name": "add"}
BEGUN = response("output_item.added", output_index=0, item={**FUNCTION, "arguments": ""})
ENDED = response("output_item.done", output_index=0, item={**FUNCTION, "arguments": '{"a": 1}'})
PIECE = response("function_call_arguments.delta", item_id="f", output_index=0, delta='{"a": 1}')


def test_a_call_or_a_text_that_came_in_no_piece_is_whole() -> None:
    assert call_of("openai_responses", BEGUN, ENDED, COMPLETED).calls == [("add", {"a": 1})]
    assert call_of("openai_responses", BEGUN, PIECE, ENDED, COMPLETED).calls == [("add", {"a": 1})]
    done = response("output_text.done", item_id="i", output_index=0, content_index=0, text="well")
    assert call_of("openai_responses", done, COMPLETED).text == "well"
    assert call_of("openai_responses", text_piece("well"), done, COMPLETED).text == "well"


@pytest.mark.parametrize("content", [{"type": "text", "text": "well"}, ["we", {"text": "ll"}], [{"text": "well"}, 5]])
def test_a_text_in_an_object_or_a_list_is_a_text(content: Any) -> None:
    assert call_of("openai", chunk({"content": content}), chunk({}, "stop"), DONE).text == "well"


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "llamacpp"])
@pytest.mark.parametrize("life", [b"event: keepalive\n\n", b"event: ping\ndata: ping\n\n", b": ping\n\n"])
def test_a_sign_of_life_is_not_a_part_of_the_answer(provider: str, life: bytes) -> None:
    first, *rest = WELL[provider].parts
    assert call_of(provider, life, first, life, *rest).text == "well"


def test_an_error_of_ollama_that_is_an_object_has_its_words() -> None:
    call = call_of("ollama", b'{"error": {"message": "busy", "code": 503}}\n')
    assert ("busy (503)" in call.reason, len(call.requests)) == (True, 2)


def test_one_call_of_ollama_without_a_list_is_a_call() -> None:
    call = {"function": {"name": "add", "arguments": {"a": 1}}}
    assert call_of("ollama", line({"tool_calls": call}, done=True)).calls == [("add", {"a": 1})]


def test_nothing_of_a_responses_answer_changes() -> None:
    assert call_of("openai_responses", text_piece("well"), COMPLETED).text == "well"
