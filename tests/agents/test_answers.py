"""What a server sends that is not an answer: named with its host, tried again where that helps, never stored."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from strands_cli.agents.model.checked_transport import _is_of_same_server
from strands_cli.agents.model.journaled_model import JournaledModel
from strands_cli.agents.model.model_errors import reason_of
from strands_cli.agents.model.models import build_model, close_model
from strands_cli.agents.model.read_answer import ReadAnswer
from strands_cli.engine.effects.budget import StepLimits
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.events import ModelRetried, ModelText, RunWarning, Usage
from strands_cli.planning.prices import Price, PriceTable
from strands_cli.providers import ModelSettings
from strands_cli.workflow.agent_sections import AgentLimits
from strands_cli.workflow.sections import FailurePolicy
from tests.agents.kit import RunContext, run
from tests.fakes.ports import FakeClock
from tests.fakes.raw_server import DONE, JSON, LINES, RawServer, Reply, chat, chunk, event, line, usage

pytestmark = [pytest.mark.hostile, pytest.mark.clients]

MESSAGES = [{"role": "user", "content": [{"text": "go"}]}]
POLICY = FailurePolicy(retries=1, wait_min=0, wait_max=0)
PRICES = PriceTable({"*/m": Price(1.0, 2.0)}, "here")
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
PATHS = {"openai": "/v1", "openai_responses": "/v1"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS.values():
        monkeypatch.setenv(name, "sk-secret-0123456789")
    # A proxy for everything: no request to this machine may use it.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)


class Call:
    """One model call over the real client of a provider, and what it left."""

    def __init__(self, provider: str, *replies: Reply, tail: str | None = None) -> None:
        self.context = RunContext()
        self.context.clock = FakeClock()
        self.error: Exception | None = None
        self.events: list[Any] = []
        with RawServer(*replies) as server:
            host = server.host + (PATHS.get(provider, "") if tail is None else tail)
            options = {"max_tokens": 99} if provider == "anthropic" else {}
            self.settings = ModelSettings(provider, "m", host=host, **options)
            try:
                self.events = run(self._ask())
            except Exception as error:
                self.error = error
            self.requests, self.paths, self.host = server.requests, server.paths, server.host.removeprefix("http://")

    async def _ask(self) -> list[Any]:
        inner = build_model(self.settings)
        limits = StepLimits(AgentLimits(), POLICY, PRICES)
        try:
            model = JournaledModel(inner, self.settings, StepScope(self.context, "steps.0", "a", limits))
            return [one async for one in model.stream(MESSAGES, [], None)]
        finally:
            await close_model(inner)

    @property
    def row(self) -> Row:
        (row,) = self.context.rows("model").values()
        return row

    @property
    def reason(self) -> str:
        assert self.error is not None, self.events
        return reason_of(self.error, self.settings)

    @property
    def text(self) -> str:
        assert self.error is None, repr(self.error)
        deltas = (one.get("contentBlockDelta", {}).get("delta", {}) for one in self.events)
        return "".join(delta.get("text", "") for delta in deltas)

    @property
    def heard(self) -> str:
        return "".join(one.text for one in self.context.of(ModelText))

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """The calls of tools with their arguments."""
        assert self.error is None, repr(self.error)
        found: list[tuple[str, str]] = []
        for one in self.events:
            if use := one.get("contentBlockStart", {}).get("start", {}).get("toolUse"):
                found.append((use["name"], ""))
            delta = one.get("contentBlockDelta", {}).get("delta", {})
            if "toolUse" in delta:
                found[-1] = (found[-1][0], found[-1][1] + delta["toolUse"]["input"])
        return [(name, json.loads(text or "{}")) for name, text in found]


def anthropic(kind: str, **more: Any) -> bytes:
    return event({"type": kind, **more}, kind)


STARTED = anthropic(
    "message_start",
    message={
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    },
)


def block(*texts: str, kind: str = "text_delta", name: str = "text", start: Any = None) -> list[bytes]:
    """Return a whole block of Anthropic's interface."""
    return [
        anthropic("content_block_start", index=0, content_block=start or {"type": "text", "text": ""}),
        *(anthropic("content_block_delta", index=0, delta={"type": kind, name: text}) for text in texts),
        anthropic("content_block_stop", index=0),
    ]


def stopped(reason: str = "end_turn", **counts: Any) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    used = counts or {"output_tokens": 5}
    return [anthropic("message_delta", delta=delta, usage=used), anthropic("message_stop")]


def response(kind: str, **more: Any) -> bytes:
    return event({"type": f"response.{kind}", "sequence_number": 0, **more}, f"response.{kind}")


COMPLETED = response(
    "completed",
    response={
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    },
)


def text_piece(text: str) -> bytes:
    return response("output_text.delta", item_id="i", output_index=0, content_index=0, delta=text)


def gemini(text: str | None = None, finish: str | None = None, **more: Any) -> bytes:
    parts = {"parts": [{"text": text}]} if text is not None else {}
    candidate = {"content": {"role": "model", **parts}, "index": 0, **({"finishReason": finish} if finish else {})}
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return event({"candidates": [candidate | more], "usageMetadata": counts})


WELL: dict[str, Reply] = {
    "openai": chat(),
    "llamacpp": chat(),
    "anthropic": Reply([STARTED, *block("well"), *stopped()]),
    "openai_responses": Reply([text_piece("well"), COMPLETED]),
    "ollama": Reply(
        [line({"role": "assistant", "content": "well"}), line({"content": ""}, done=True, done_reason="stop")], LINES
    ),
    "gemini": Reply([gemini("well", "STOP")]),
}
needs_gemini = pytest.mark.skipif(
    importlib.util.find_spec("google") is None or importlib.util.find_spec("google.genai") is None,
    reason="google-genai is not installed",
)


def per_provider(replies: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(provider, value, id=name, marks=[needs_gemini] if provider == "gemini" else [])
        for name, value in replies.items()
        if (provider := name.partition(" ")[0])
    ]


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": '}}
CUT: dict[str, Sequence[bytes]] = {
    "openai in its text": [chunk({"role": "assistant", "content": "half "})],
    "openai before its first token": [chunk({"role": "assistant", "content": ""})],
    "openai inside a call": [chunk({"tool_calls": [CALL]})],
    "openai after a call": [chunk({"tool_calls": [{**CALL, "function": {"name": "add", "arguments": "{}"}}]})],
    "openai inside an event": [chunk({"content": "half "}), b'data: {"choices": [{"ind'],
    "openai with comments": [b": ping\n\n", chunk({"content": "half "}), b": ping\n\n"],
    "llamacpp in its text": [chunk({"role": "assistant", "content": "half "})],
    "anthropic in its text": [STARTED, *block("half ")[:2]],
    "anthropic before its text": [STARTED],
    "anthropic without its end": [STARTED, *block("half "), stopped()[0]],
    "anthropic inside a call": [
        STARTED,
        *block(
            '{"a"',
            kind="input_json_delta",
            name="partial_json",
            start={"type": "tool_use", "id": "t", "name": "add", "input": {}},
        )[:2],
    ],
    "openai_responses in its text": [text_piece("half ")],
    "openai_responses after its text": [
        text_piece("half "),
        response("output_text.done", item_id="i", output_index=0, content_index=0, text="half "),
    ],
    "ollama in its text": [line({"role": "assistant", "content": "half "}, done=False)],
    "ollama inside a line": [line({"role": "assistant", "content": "half "}), b'{"model": "m", "mess'],
    "gemini in its text": [gemini("half ")],
}


@pytest.mark.parametrize(("provider", "parts"), per_provider(CUT))
def test_a_stream_without_its_end_is_tried_again_and_nothing_of_it_is_used(
    provider: str, parts: Sequence[bytes]
) -> None:
    cut = Reply(parts, LINES if provider == "ollama" else "text/event-stream")
    call = Call(provider, cut, WELL[provider])
    assert call.text == "well"
    (retried,) = call.context.of(ModelRetried)
    assert call.host in retried.reason
    assert "half" not in json.dumps(call.row.output)
    assert (call.row.status, call.row.attempt) == ("done", 2)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "ollama", "llamacpp"])
def test_a_stream_that_never_ends_well_is_not_a_finished_call(provider: str) -> None:
    call = Call(provider, Reply(list(WELL[provider].parts)[:1], WELL[provider].kind))
    assert call.host in call.reason
    assert "before it was complete" in call.reason
    assert (call.row.status, call.row.attempt, len(call.requests)) == ("failed", 2, 2)


PAGE = Reply([b"<!DOCTYPE html><html><head><title>Log in</title></head><body>Welcome</body></html>"], "text/html")
OTHERS: dict[str, Reply] = {
    "page": PAGE,
    "page of an unknown type": Reply([b"\n\n<html></html>"], ""),
    "json of another interface": Reply([b'{"status": "ok"}'], JSON),
    "list": Reply([b"[]"], JSON),
    "text": Reply([b"It works!"], "text/plain"),
    "events of another interface": Reply([event({"hello": 1}), event({"goodbye": 1})]),
    "events of another interface, and done": Reply([event({"hello": 1}), DONE]),
    "bytes": Reply([b"\x00\x01\x02\x03\x04\x05\x06\x07"], "application/octet-stream"),
}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "ollama", "llamacpp"])
@pytest.mark.parametrize("reply", OTHERS.values(), ids=OTHERS)
def test_what_another_kind_of_server_sends_is_not_an_answer(provider: str, reply: Reply) -> None:
    call = Call(provider, reply)
    title = {"anthropic": "Anthropic", "ollama": "Ollama", "llamacpp": "llama.cpp"}.get(provider, "OpenAI")
    assert f"the server at {call.host} did not answer as {title} does" in call.reason
    assert not reply.kind or f"({reply.kind})" in call.reason
    assert call.row.status == "failed"
    assert len(call.requests) == 1, "it would be the same again"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_prompt_does_not_follow_a_redirect_to_another_server(provider: str, status: int) -> None:
    call = Call(provider, Reply([b""], "text/html", status, {"location": "http://user:pass@localhost:9/login?to=x"}))
    assert f"{call.host} redirects to http://localhost:9 ({status}), which is not followed" in call.reason
    assert (call.row.status, len(call.requests)) == ("failed", 1)


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_a_server_is_followed(status: int) -> None:
    call = Call("openai", Reply([b""], "text/html", status, {"location": "/elsewhere"}), WELL["openai"])
    assert call.text == "well"
    assert "/elsewhere" in call.paths


def test_a_redirect_that_leaves_the_prompt_out_is_not_followed() -> None:
    call = Call("openai", Reply([b""], "text/html", 302, {"location": "/elsewhere"}), WELL["openai"])
    assert f"{call.host} redirects to http://{call.host} (302), which is not followed" in call.reason
    assert len(call.requests) == 1


@pytest.mark.parametrize(
    ("here", "there", "is_same"),
    [
        ("http://a/x", "https://a/y", True),
        ("https://a/x", "https://a:443/y", True),
        ("https://a/x", "http://a/y", False),
        ("http://a:8080/x", "https://a:8443/x", False),
        ("https://a/x", "https://a.b/x", False),
        ("https://a/x", "https://a:99999/", False),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:2/x", False),
    ],
)
def test_what_is_of_the_same_server(here: str, there: str, is_same: bool) -> None:
    assert _is_of_same_server(here, there) is is_same


def test_an_address_without_its_version_is_named() -> None:
    from strands_cli.agents.model.model_errors import explain_error
    from tests.agents.kit import agent_of

    for reply in (PAGE, Reply([b'{"detail": "Not Found"}'], JSON, 404)):
        call = Call("openai", reply, tail="")
        assert call.error is not None
        fix = explain_error(call.error, agent_of(settings=call.settings)).fix
        assert f"http://{call.host}/v1" in str(fix)
        with_version = explain_error(Call("openai", reply).error or Exception(), agent_of(settings=call.settings))
        assert reply is not PAGE or "/v1" not in str(with_version.fix)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "ollama", "llamacpp"])
@pytest.mark.parametrize("parts", [[], [b"\n\n"]], ids=["nothing", "blank"])
def test_a_body_without_content_is_tried_again(provider: str, parts: list[bytes]) -> None:
    call = Call(provider, Reply(parts, JSON), WELL[provider])
    assert call.text == "well"
    assert call.host in call.context.of(ModelRetried)[0].reason


ERRORS = {
    "overloaded": ({"error": {"message": "busy", "type": "overloaded_error"}}, True, "busy"),
    "status as code": ({"error": {"message": "upstream is down", "code": 502}}, True, "upstream is down"),
    "permanent": ({"error": {"message": "no such model", "code": "model_not_found"}}, False, "no such model"),
    "text": ({"error": "no such model"}, False, "no such model"),
    "no credit": ({"error": {"message": "pay", "code": "insufficient_quota"}}, False, "has no credit"),
}


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "llamacpp"])
@pytest.mark.parametrize(("body", "again", "words"), ERRORS.values(), ids=ERRORS)
def test_an_error_with_the_status_of_success_is_an_error(provider: str, body: Any, again: bool, words: str) -> None:
    call = Call(provider, Reply([json.dumps(body).encode()], JSON))
    assert words in call.reason
    assert call.host in call.reason
    assert len(call.requests) == (2 if again else 1)


def refusal(text: str) -> bytes:
    return response("refusal.delta", item_id="i", output_index=0, content_index=0, delta=text)


STOPS: dict[str, tuple[Sequence[bytes], bool, str]] = {
    "openai withheld": ([chunk({"content": "a"}), chunk({}, "content_filter"), DONE], False, "content_filter"),
    "openai refused": (
        [chunk({"refusal": "I can't "}), chunk({"refusal": "do that."}), chunk({}, "stop"), DONE],
        False,
        "the model refused: I can't do that.",
    ),
    "openai failed upstream": ([chunk({"content": "a"}), chunk({}, "error"), DONE], True, "(error)"),
    "openai malformed": ([chunk({}, "function_call_filter: MALFORMED_FUNCTION_CALL"), DONE], True, "MALFORMED"),
    "anthropic refused": ([STARTED, *block("I"), *stopped("refusal")], False, "the model refused (refusal)"),
    "anthropic too long": (
        [STARTED, *block("I"), *stopped("model_context_window_exceeded")],
        False,
        "(model_context_window_exceeded)",
    ),
    "openai_responses refused": ([refusal("No."), COMPLETED], False, "the model refused: No."),
    "gemini malformed": ([gemini(None, "MALFORMED_FUNCTION_CALL", finishMessage="x(")], True, "MALFORMED_FUNCTION"),
    "gemini safety": ([gemini(None, "SAFETY")], False, "SAFETY"),
    "gemini recitation": ([gemini("a", "RECITATION")], True, "RECITATION"),
    "gemini other": ([gemini(None, "OTHER")], True, "OTHER"),
    "gemini blocked": ([event({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})], False, "PROHIBITED"),
    "gemini no candidate": ([event({"usageMetadata": {"promptTokenCount": 3}})], True, "before it was complete"),
    "openai empty": ([chunk({"role": "assistant", "content": ""}), chunk({}, "stop"), DONE], True, "is empty"),
    "openai blank": ([chunk({"content": " \n"}), chunk({}, "stop"), DONE], True, "is empty"),
    "anthropic empty": ([STARTED, *stopped()], True, "is empty"),
    "llamacpp empty": ([chunk({}, "stop"), DONE], True, "is empty"),
}


@pytest.mark.parametrize(("provider", "case"), per_provider(STOPS))
def test_an_end_without_an_answer_is_named_and_tried_again_where_that_helps(
    provider: str, case: tuple[Sequence[bytes], bool, str]
) -> None:
    parts, again, words = case
    call = Call(provider, Reply(parts))
    assert words in call.reason
    assert call.row.status == "failed"
    assert len(call.requests) == (2 if again else 1)


def test_an_empty_answer_is_paid_for_and_counts_with_the_one_that_follows() -> None:
    call = Call("openai", chat(""), chat("well"))
    assert call.text == "well"
    assert (call.context.budget.model_calls, call.context.budget.usage) == (2, Usage(20, 10))
    assert (call.row.usage, call.row.paid_calls, call.row.attempt) == (Usage(20, 10), 2, 2)
    assert call.row.cost == pytest.approx(2 * (10 * 1.0 + 5 * 2.0) / 1e6)


def test_an_answer_that_is_not_a_stream_says_how_to_ask_for_it() -> None:
    whole = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "well"}}]}
    assert "a stream was asked for" in Call("openai", Reply([json.dumps(whole).encode()], JSON)).reason


COUNTS: dict[str, Sequence[bytes]] = {
    "openai null": [chunk({"content": "well"}), chunk({}, "stop"), usage(None), DONE],
    "openai null counts": [
        chunk({"content": "well"}),
        chunk({}, "stop"),
        usage({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}),
        DONE,
    ],
    "openai negative": [
        chunk({"content": "well"}),
        chunk({}, "stop"),
        usage({"prompt_tokens": -1, "completion_tokens": 5, "total_tokens": 4}),
        DONE,
    ],
    "openai absent": [chunk({"content": "well"}), chunk({}, "stop"), DONE],
    "openai words": [chunk({"content": "well"}), chunk({}, "stop"), usage({"prompt_tokens": "many"}), DONE],
    "anthropic absent": [
        STARTED,
        *block("well"),
        anthropic("message_delta", delta={"stop_reason": "end_turn"}),
        anthropic("message_stop"),
    ],
    "anthropic null": [
        anthropic(
            "message_start",
            message={"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": None},
        ),
        *block("well"),
        *stopped(output_tokens=None),
    ],
    "ollama absent": [line({"content": "well"}), line({"content": ""}, done=True, done_reason="stop")],
    "ollama null": [line({"content": "well"}, done=True, eval_count=None, prompt_eval_count=3, total_duration=None)],
    "ollama negative": [line({"content": "well"}, done=True, eval_count=-1, prompt_eval_count=-1, total_duration=-5)],
    "llamacpp null": [chunk({"content": "well"}, None, usage=None), chunk({}, "stop", usage=None), DONE],
    "llamacpp with each event": [chunk({"content": "well"}, usage={"prompt_tokens": 1}), chunk({}, "stop"), DONE],
}


@pytest.mark.parametrize(("provider", "parts"), per_provider(COUNTS))
def test_an_answer_without_its_counts_is_used(provider: str, parts: Sequence[bytes]) -> None:
    call = Call(provider, Reply(parts, LINES if provider == "ollama" else "text/event-stream"))
    assert call.text == "well"
    assert min(call.row.usage.input_tokens, call.row.usage.output_tokens) > 0
    assert call.row.usage.estimated_tokens > 0
    assert call.row.cost is None, "an estimate has no price"


SHAPES: dict[str, Sequence[bytes]] = {
    "openai without a delta": [chunk(None), chunk({"content": "well"}), chunk({}, "stop"), DONE],
    "openai whole": [
        event(
            {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
            | {"choices": [{"index": 0, "message": {"content": "well"}, "finish_reason": "stop"}]}
        ),
        DONE,
    ],
    "openai content as parts": [chunk({"content": [{"type": "text", "text": "well"}]}), chunk({}, "stop"), DONE],
    "openai counts as a list": [chunk({"content": "well"}), chunk({}, "stop"), usage([1, 2]), DONE],
    "llamacpp without a delta": [chunk(None), chunk({"content": "well"}), chunk({}, "stop"), DONE],
}


@pytest.mark.parametrize(("provider", "parts"), per_provider(SHAPES))
def test_an_event_of_another_shape_costs_no_answer(provider: str, parts: Sequence[bytes]) -> None:
    call = Call(provider, Reply(parts))
    assert call.text == "well", call.error


OVERLOADED = event({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "error")


@pytest.mark.parametrize(
    ("provider", "reply"),
    [
        ("openai", Reply([chunk({"content": "half"}), event({"error": "busy"})])),
        ("anthropic", Reply([STARTED, *block("half")[:2], OVERLOADED])),
        ("ollama", Reply([line({"content": "half"}), b'{"error": "busy"}\n'], LINES)),
        ("openai", Reply([b'{"detail": "busy"}'], JSON)),
    ],
)
def test_an_error_in_an_answer_is_a_sentence_with_the_host_and_a_fix(provider: str, reply: Reply) -> None:
    from strands_cli.agents.model.model_errors import explain_error
    from tests.agents.kit import agent_of

    call = Call(provider, reply)
    assert call.error is not None
    assert (call.host in call.reason, call.reason.endswith("busy"), "Error" in call.reason) == (True, True, False)
    assert explain_error(call.error, agent_of(settings=call.settings)).fix


SMILE, FIRST, SECOND = "\U0001f600", "\ud83d", "\ude00"


def texts_of(provider: str) -> Callable[..., Reply]:
    """Return what makes a reply of pieces of text for a provider."""
    makers: dict[str, Callable[..., Sequence[bytes]]] = {
        "openai": lambda *texts: [*(chunk({"content": text}) for text in texts), chunk({}, "stop"), DONE],
        "anthropic": lambda *texts: [STARTED, *block(*texts), *stopped()],
        "openai_responses": lambda *texts: [*map(text_piece, texts), COMPLETED],
        "ollama": lambda *texts: [*(line({"content": text}) for text in texts), line({"content": ""}, done=True)],
        "gemini": lambda *texts: [*map(gemini, texts), gemini("", "STOP")],
    }
    makers["llamacpp"] = makers["openai"]
    kind = LINES if provider == "ollama" else "text/event-stream"
    return lambda *texts: Reply(makers[provider](*texts), kind)


@pytest.mark.parametrize("provider", [*WELL])
@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["Hi ", FIRST, SECOND, " end"], f"Hi {SMILE} end"),
        ([f"Hi {FIRST}", f"{SECOND} end"], f"Hi {SMILE} end"),
        (["Hi ", f"{FIRST}", f"{SECOND}{FIRST}", f"{SECOND}"], f"Hi {SMILE}{SMILE}"),
        (["Hi ", FIRST, " end"], "Hi \ufffd end"),
        (["Hi ", SECOND, " end"], "Hi \ufffd end"),
        (["Hi ", FIRST], "Hi \ufffd"),
    ],
)
def test_the_halves_of_a_character_are_joined_everywhere(provider: str, pieces: list[str], whole: str) -> None:
    if provider == "gemini" and needs_gemini.args[0]:
        pytest.skip("google-genai is not installed")
    call = Call(provider, texts_of(provider)(*pieces))
    assert (call.text, call.heard) == (whole, whole)
    stored = json.dumps(call.row.output, ensure_ascii=False)
    stored.encode()  # it has no half


def test_halves_are_joined_in_arguments_and_in_reasoning() -> None:
    pieces = ['{"a": "', FIRST, SECOND, '", "b": "\\ud83d', '\\ude00", "c": "\\ud83d"}']
    first, *more = [{"index": 0, "function": {"arguments": text}} for text in pieces]
    deltas = [{"tool_calls": [{**first, "id": "c", "function": {"name": "add", "arguments": pieces[0]}}]}]
    deltas += [{"tool_calls": [piece]} for piece in more]
    thoughts = [chunk({"reasoning_content": text}) for text in ("so ", FIRST, SECOND)]
    call = Call("openai", Reply([*thoughts, *map(chunk, deltas), chunk({}, "tool_calls"), DONE]))
    assert call.calls == [("add", {"a": SMILE, "b": SMILE, "c": "\ufffd"})]
    reasoning = [
        one["contentBlockDelta"]["delta"].get("reasoningContent", {})
        for one in call.events
        if "contentBlockDelta" in one
    ]
    assert "".join(one.get("text", "") for one in reasoning) == f"so {SMILE}"


def piece(arguments: str | None = None, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {"type": "function", "function": {**name, "arguments": arguments}, **more}


ONE, TWO = '{"expression": "1+1"}', '{"expression": "2+3"}'
BOTH = [("calculator", {"expression": "1+1"}), ("calculator", {"expression": "2+3"})]
CALC: Any = {"name": "calculator"}
PARTED: dict[str, list[list[dict[str, Any]]]] = {
    "one index": [[piece(ONE, index=0, id="c1", **CALC)], [piece(TWO, index=0, id="c2", **CALC)]],
    "one index in one event": [[piece(ONE, index=0, id="c1", **CALC), piece(TWO, index=0, id="c2", **CALC)]],
    "one index, in pieces": [
        [piece(ONE[:9], index=0, id="c1", **CALC)],
        [piece(ONE[9:], index=0)],
        [piece("", index=0, id="c2", **CALC)],
        [piece(TWO[:5], index=0)],
        [piece(TWO[5:], index=0)],
    ],
    "one index, mixed pieces with ids": [
        [piece(ONE[:9], index=0, id="c1", **CALC)],
        [piece(TWO[:9], index=0, id="c2", **CALC)],
        [piece(ONE[9:], index=0, id="c1")],
        [piece(TWO[9:], index=0, id="c2")],
    ],
    "no index": [[piece(ONE, id="c1", **CALC)], [piece(TWO, id="c2", **CALC)]],
    "no index in one event": [[piece(ONE, id="c1", **CALC), piece(TWO, id="c2", **CALC)]],
    "index null": [[piece(ONE, index=None, id="c1", **CALC)], [piece(TWO, index=None, id="c2", **CALC)]],
    "no id": [[piece(ONE, index=0, **CALC)], [piece(TWO, index=0, **CALC)]],
    "empty ids": [[piece(ONE, index=0, id="", **CALC)], [piece(TWO, index=1, id="", **CALC)]],
    "the same id": [[piece(ONE, index=0, id="c", **CALC)], [piece(TWO, index=1, id="c", **CALC)]],
    "id and name in each piece": [
        [piece(ONE[:9], index=0, id="c1", **CALC)],
        [piece(ONE[9:], index=0, id="c1", **CALC)],
        [piece(TWO[:9], index=1, id="c2", **CALC)],
        [piece(TWO[9:], index=1, id="c2", **CALC)],
    ],
    "name in each piece, no id": [
        [piece(ONE[:9], index=0, **CALC)],
        [piece(ONE[9:], index=0, **CALC)],
        [piece(TWO[:9], index=0, **CALC)],
        [piece(TWO[9:], index=0, **CALC)],
    ],
    "another id in each piece": [
        [piece(ONE[:9], index=0, id="c1", **CALC)],
        [piece(ONE[9:], index=0, id="x9")],
        [piece(TWO[:9], index=1, id="c2", **CALC)],
        [piece(TWO[9:], index=1, id="x8")],
    ],
    "as the interface says": [
        [piece("", index=0, id="c1", **CALC)],
        [piece(ONE, index=0)],
        [piece("", index=1, id="c2", **CALC)],
        [piece(TWO, index=1)],
    ],
    "side by side": [
        [piece(ONE[:9], index=0, id="c1", **CALC), piece(TWO[:9], index=1, id="c2", **CALC)],
        [piece(ONE[9:], index=0), piece(TWO[9:], index=1)],
    ],
}


@pytest.mark.parametrize("deltas", PARTED.values(), ids=PARTED)
def test_two_calls_are_two_however_a_server_numbers_them(deltas: Any) -> None:
    parts = [chunk({"tool_calls": pieces}) for pieces in deltas]
    assert Call("openai", Reply([*parts, chunk({}, "tool_calls"), DONE])).calls == BOTH
    for ending in ([chunk({}, "stop"), usage(), DONE], [chunk({}, "tool_calls")], [DONE]):
        reader = ReadAnswer("openai", "http://h/v1/chat/completions", "text/event-stream")
        passed = b"".join(map(reader.feed, [*parts, *ending])) + reader.end()
        found = [one["function"] for one in calls_passed(passed)]
        assert [(one["name"], json.loads(one["arguments"])) for one in found] == BOTH


def calls_passed(body: bytes) -> list[Any]:
    """Return the calls in a stream that the client gets."""
    texts = [text for text in body.decode().split("\n\n") if text.startswith("data: {")]
    choices = [json.loads(text.removeprefix("data: "))["choices"] for text in texts]
    return [call for one in choices if one for call in one[0]["delta"].get("tool_calls", [])]


def test_two_calls_are_two_for_the_client_of_llamacpp() -> None:
    deltas = [chunk({"tool_calls": pieces}) for pieces in PARTED["one index"]]
    assert Call("llamacpp", Reply([*deltas, chunk({}, "tool_calls"), DONE])).calls == BOTH


MIXED: dict[str, list[list[dict[str, Any]]]] = {
    "two at once without an id": [
        [piece("", index=0, id="c1", **CALC)],
        [piece("", index=0, id="c2", **CALC)],
        [piece(ONE, index=0)],
        [piece(TWO, index=0)],
    ],
    "two in one": [[piece(ONE, index=0, id="c1", **CALC)], [piece(TWO, index=0)]],
    "no name at all": [[piece(ONE, index=0, id="c1")]],
    "an unknown index": [[piece(ONE[:9], index=0, id="c1", **CALC)], [piece(ONE[9:], index=4)]],
    "no object": [[7]],  # type: ignore[list-item]
}


@pytest.mark.parametrize("deltas", MIXED.values(), ids=MIXED)
def test_parts_that_belong_to_no_call_for_sure_make_a_failed_attempt(deltas: Any) -> None:
    mixed = Reply([*(chunk({"tool_calls": pieces}) for pieces in deltas), chunk({}, "tool_calls"), DONE])
    call = Call("openai", mixed, chat())
    assert call.text == "well"
    assert "mixed the parts of calls" in call.context.of(ModelRetried)[0].reason


SPENT: dict[str, tuple[int, Any]] = {
    "openai": (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
    "openai_responses": (429, {"error": {"message": "x", "type": "insufficient_quota"}}),
    "anthropic": (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to use the API."},
        },
    ),
    "openai payment": (402, {"error": {"message": "Insufficient Balance", "code": "invalid_request_error"}}),
    "openai credits": (402, {"error": {"message": "This request requires more credits", "code": 402}}),
    "openai hard limit": (400, {"error": {"message": "x", "code": "billing_hard_limit_reached"}}),
    "openai team": (429, {"error": "Your team has used all available credits or reached its monthly spending limit."}),
    "llamacpp": (402, {"error": {"message": "pay"}}),
    "ollama": (402, {"error": "payment required"}),
    "gemini": (
        429,
        {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Your prepayment credits are depleted."}},
    ),
}


@pytest.mark.parametrize(("provider", "case"), per_provider(SPENT))
def test_an_account_without_credit_is_not_a_rate_limit(provider: str, case: tuple[int, Any]) -> None:
    from strands_cli.agents.model.model_errors import explain_error
    from tests.agents.kit import agent_of

    status, body = case
    call = Call(provider, Reply([json.dumps(body).encode()], JSON, status))
    assert call.reason.startswith(f"the account at {call.host} has no credit: ")
    assert len(call.requests) == 1
    assert call.error is not None
    explained = explain_error(call.error, agent_of(settings=call.settings))
    assert "max_parallel" not in str(explained.fix)
    assert "add credit" in str(explained.fix)


LIMITED: dict[str, Any] = {
    "openai": {"error": {"message": "Rate limit reached for m in organization o", "code": "rate_limit_exceeded"}},
    "anthropic": {"type": "error", "error": {"type": "rate_limit_error", "message": "Rate limit reached for m"}},
    "openai_responses": {"error": {"message": "Rate limit reached for m", "code": "rate_limit_exceeded"}},
    "llamacpp": {"error": {"message": "Rate limit reached for m"}},
    "ollama": {"error": "Rate limit reached for m"},
    "gemini": {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Rate limit reached for m"}},
}


@pytest.mark.parametrize(("provider", "body"), per_provider(LIMITED))
def test_a_rate_limit_is_a_sentence_with_the_host(provider: str, body: Any) -> None:
    call = Call(provider, Reply([json.dumps(body).encode()], JSON, 429))
    assert call.reason.startswith(f"{call.host} is over its rate limit: Rate limit reached for m")
    assert call.reason.endswith("(429)")
    assert len(call.requests) == 2


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "ollama", "llamacpp"])
def test_a_page_with_the_status_of_a_failure_is_a_sentence(provider: str) -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>"
    call = Call(provider, Reply([page], "text/html", 502))
    assert call.reason == f"{call.host} failed: 502 Bad Gateway"


def test_tokens_that_are_not_reported_are_estimated_and_a_budget_of_them_stops() -> None:
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.errors import BudgetExceeded
    from strands_cli.workflow.sections import Budgets

    call = Call("openai", Reply([chunk({"content": "long answer " * 500}), chunk({}, "stop"), DONE]))
    usage = call.row.usage
    assert 1000 < usage.output_tokens < 3000
    assert usage.estimated_tokens == usage.total_tokens
    budget = Budget.resumed(Budgets(max_tokens=50), FakeClock(), call.context.journal)
    assert [one for one in budget.warnings("model") if "estimates" in one] or budget.usage.total_tokens > 50
    with pytest.raises(BudgetExceeded):
        budget.require("model")
    assert usage.marked_total == f"{usage.total_tokens} tokens (estimated)"
    assert usage.counts()["estimated_tokens"] == usage.total_tokens


FAILED = response(
    "failed",
    response={
        "id": "r",
        "error": {"code": "server_error", "message": "no"},
        "usage": {"input_tokens": 7, "output_tokens": 2},
    },
)
REPORTED: dict[str, tuple[Sequence[bytes], Usage]] = {
    "openai cut after its usage": ([chunk({"content": "half "}), usage()], Usage(10, 5)),
    "llamacpp with usage in each event": (
        [chunk({"content": "half "}, usage={"prompt_tokens": 9, "completion_tokens": number}) for number in (1, 2)],
        Usage(9, 2),
    ),
    "anthropic cut in its text": ([STARTED, *block("half ")[:2]], Usage(10, 1)),
    "anthropic cut before its end": ([STARTED, *block("half "), stopped()[0]], Usage(10, 5)),
    "openai_responses that failed": ([text_piece("half "), FAILED], Usage(7, 2)),
    "openai cut without counts": ([chunk({"content": "half "})], Usage()),
}


@pytest.mark.parametrize("case", REPORTED)
def test_tokens_that_a_failed_attempt_has_reported_count(case: str) -> None:
    provider, (parts, reported) = case.partition(" ")[0], REPORTED[case]
    whole = Call(provider, WELL[provider]).row.usage
    call = Call(provider, Reply(parts), WELL[provider])
    assert call.text == "well"
    assert call.context.budget.usage == call.row.usage == whole + reported
    assert call.context.budget.model_calls == (1 if reported.is_unknown else 2)
    failed = Call(provider, Reply(parts))
    assert failed.row.status == "failed"
    assert failed.context.budget.usage == reported + reported


ODD_ENDS: dict[str, Reply] = {
    "openai": chat("well", "weird"),
    "llamacpp": chat("well", "weird"),
    "anthropic": Reply([STARTED, *block("well"), *stopped("weird")]),
    "ollama": Reply([line({"role": "assistant", "content": "well"}, done=True, done_reason="weird")], LINES),
    "gemini": Reply([gemini("well", "WEIRD")]),
}


@pytest.mark.parametrize(("provider", "reply"), per_provider(ODD_ENDS))
def test_an_answer_with_an_unknown_end_is_used_with_a_warning(provider: str, reply: Reply) -> None:
    call = Call(provider, reply)
    assert call.text == "well"
    (warning,) = call.context.of(RunWarning)
    assert (warning.code, "weird" in warning.message.lower()) == ("unknown-end", True)
    assert call.row.detail["unknown_end"].lower() == "weird"


@pytest.mark.parametrize("reason", ["stop", "length", "STOP", "eos", "model_length", "tool_calls"])
def test_ordinary_ends_are_no_warning(reason: str) -> None:
    assert not Call("openai", chat("well", reason)).context.of(RunWarning)


@pytest.mark.parametrize("provider", [one for one in WELL if one != "gemini"])
def test_finished_answers_are_without_warnings(provider: str) -> None:
    call = Call(provider, WELL[provider])
    assert (call.text, call.context.of(RunWarning)) == ("well", [])


PROXY = "http://user:secret@127.0.0.1:9"


@pytest.mark.parametrize(
    ("address", "environ", "variable"),
    [
        ("https://api.example.com/v1", {"HTTPS_PROXY": PROXY}, "HTTPS_PROXY"),
        ("https://api.example.com/v1", {"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, "https_proxy"),
        ("https://api.example.com/v1", {"ALL_PROXY": PROXY, "HTTP_PROXY": "http://other"}, "ALL_PROXY"),
        ("http://api.example.com/v1", {"HTTP_PROXY": "127.0.0.1:9"}, "HTTP_PROXY"),
        ("http://api.example.com/v1", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, None),
        ("https://api.example.com/v1", {"HTTP_PROXY": PROXY}, None),
        ("https://api.example.com/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "example.com"}, None),
        ("https://api.example.com:8443/v1", {"ALL_PROXY": PROXY, "no_proxy": "x, api.example.com:8443"}, None),
        ("https://10.1.2.3/v1", {"ALL_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://example.com.evil.org/", {"ALL_PROXY": PROXY, "NO_PROXY": "example.com"}, "ALL_PROXY"),
        *(
            (f"http://{host}/v1", {"ALL_PROXY": PROXY, "HTTP_PROXY": PROXY}, None)
            for host in (
                "localhost:11434",
                "127.0.0.1:1",
                "127.8.9.1",
                "[::1]:8080",
                "api.localhost",
                "LOCALHOST.",
                "0.0.0.0",
            )
        ),
        ("http://192.168.0.7:11434", {"HTTP_PROXY": PROXY}, "HTTP_PROXY"),
    ],
)
def test_the_proxy_of_the_environment_is_that_of_other_programs_and_never_for_this_machine(
    address: str, environ: dict[str, str], variable: str | None
) -> None:
    from strands_cli.agents.model.read_answer import proxy_for

    proxy = proxy_for(address, environ)
    assert (proxy and proxy.variable) == variable
    assert proxy is None or ("://" in proxy.url and "secret" not in proxy.shown)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "openai_responses", "ollama", "llamacpp"])
@pytest.mark.parametrize("status", [403, 502, None])
def test_a_proxy_that_fails_is_named(provider: str, status: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Proxied(Call):
        async def _ask(self) -> list[Any]:
            self.settings = ModelSettings(provider, "m", host="https://models.invalid/v1", max_tokens=9)
            return await super()._ask()

    with RawServer(Reply([b"no"], "text/plain", status or 403)) as proxy:
        address = proxy.host if status else "http://127.0.0.1:1"
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, address)
        call = Proxied(provider)
    assert "models.invalid" in call.reason
    assert address in call.reason
    assert "https_proxy" in call.reason


def test_the_client_of_bedrock_uses_no_proxy_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")
    body = json.dumps({"message": "Too many requests, please wait"}).encode()
    headers = {"x-amzn-ErrorType": "ThrottlingException"}
    call = Call("bedrock", Reply([body], JSON, 429, headers))
    assert call.reason == f"{call.host} is over its rate limit: Too many requests, please wait (429)"
    assert len(call.requests) == 2
