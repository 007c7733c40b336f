"""Every model request is one effect: its digest is the request's, its row holds what was streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.agents.model.journaled_model import MAX_REQUEST, JournaledModel
from strands_cli.errors import RunRecordError
from strands_cli.providers import ModelSettings
from strands_cli.tools.messages.message_json import (
    ToolUseIds,
    broken_inputs,
    decode,
    encode,
    in_request_order,
    request_text,
)
from tests.agents.kit import SCHEMA, RunContext, Script, Site, asking, run, turn_events
from tests.wordings import Wording

ECHO = (
    f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}}}}\n"
    "def echo(tool, **kwargs):\n    return {'status': 'success', 'content': [{'text': 'x'}]}\n"
)
SETTINGS = ModelSettings("openai", "m", temperature=0.5, options={"params": {"seed": 1}})


def model_rows(planned: Any, *, prompt: str = "go", settings: ModelSettings = SETTINGS) -> list[Any]:
    host = RunContext()
    model = Script([("echo", {"text": "hi"})], "done")
    asking(model, *planned, host=host, prompt=prompt, settings=settings)
    return list(host.rows("model").values())


@pytest.fixture
def planned(site: Site) -> Any:
    site.install(ECHO)
    return site.plan("native:echo")


def test_the_digest_of_a_request_is_the_same_in_every_run(planned: Any) -> None:
    first, second = model_rows(planned), model_rows(planned)
    assert [row.digest for row in first] == [row.digest for row in second]
    assert len({row.digest for row in first}) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"prompt": "go!"},
        {"settings": ModelSettings("openai", "m2", temperature=0.5, options={"params": {"seed": 1}})},
        {"settings": ModelSettings("openai", "m", temperature=0.6, options={"params": {"seed": 1}})},
        {"settings": ModelSettings("openai", "m", temperature=0.5, options={"params": {"seed": 2}})},
        {"settings": ModelSettings("openai", "m", host="http://other", temperature=0.5)},
    ],
)
def test_what_decides_the_answer_changes_the_digest(planned: Any, changed: dict[str, Any]) -> None:
    assert model_rows(planned)[0].digest != model_rows(planned, **changed)[0].digest


def test_another_tool_changes_the_digest(site: Site, planned: Any) -> None:
    before = model_rows(planned)[0].digest
    assert model_rows(site.plan("native:echo", {"tool": "native:echo", "as": "again"}))[0].digest != before


def test_a_row_holds_events_usage_and_what_was_asked(planned: Any) -> None:
    first, last = model_rows(planned)
    assert (first.usage.input_tokens, first.usage.output_tokens) == (10, 5)
    assert first.detail == {"agent": "tester", "model": "openai/m", "request": "go"}
    assert last.detail["request"] == "echo: success"
    assert decode(last.output["events"]) == turn_events("done", 2)
    json.dumps(first.output, allow_nan=False)


def test_a_long_request_is_kept_as_far_as_a_recording_compares(planned: Any) -> None:
    [row, _] = model_rows(planned, prompt="x" * 10_000)
    assert row.detail["request"] == "x" * MAX_REQUEST + "..."


REDACTED = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"delta": {"reasoningContent": {"redactedContent": b"\x00\xff"}}}},
    {"contentBlockStop": {}},
    {"contentBlockDelta": {"delta": {"text": "done \ud800"}}},
    {"contentBlockStop": {}},
    {"messageStop": {"stopReason": "end_turn"}},
]


def test_bytes_and_broken_characters_in_a_stream_can_be_kept_and_come_back(planned: Any) -> None:
    host = RunContext()
    assert asking(Script(lambda _request: REDACTED), host=host).text == "done \ufffd"
    [row] = host.rows("model").values()
    stored = json.loads(json.dumps(row.output, ensure_ascii=False).encode())
    assert decode(stored["events"])[1] == REDACTED[1]
    assert asking(Script(), host=RunContext(journal=host.journal)).text == "done \ufffd"


class Stateful(Script):
    @property
    def stateful(self) -> bool:
        return True

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs["model_state"]["response_id"] = f"r{len(self.requests)}"
        async for event in super().stream(messages, *args, **kwargs):
            yield event


def test_the_state_of_a_stateful_model_comes_back_from_the_record() -> None:
    host = RunContext()
    model = JournaledModel(Stateful("done"), SETTINGS, host.scope())
    assert model.stateful is True

    async def ask(asked: JournaledModel) -> dict[str, Any]:
        state: dict[str, Any] = {}
        messages = [{"role": "user", "content": [{"text": "go"}]}]
        async for _ in asked.stream(messages, [], None, model_state=state):
            pass
        return state

    assert run(ask(model)) == {"response_id": "r0"}
    again = JournaledModel(Stateful(), SETTINGS, RunContext(journal=host.journal).scope())
    assert run(ask(again)) == {"response_id": "r0"}


def test_a_changed_request_is_refused_by_its_key(planned: Any, wording: Wording) -> None:
    host = RunContext()
    asking(Script("done"), *planned, host=host, prompt="go")
    with pytest.raises(RunRecordError) as raised:
        asking(Script("done"), *planned, host=RunContext(journal=host.journal), prompt="stop")
    wording(raised.value)


def test_what_the_sdk_asks_of_a_model_goes_through_and_the_way_around_is_closed() -> None:
    inner = Script()
    model = JournaledModel(inner, SETTINGS, RunContext().scope())
    assert model.get_config() == {}
    assert model.context_window_limit is inner.context_window_limit
    assert run(model.count_tokens([{"role": "user", "content": [{"text": "go"}]}])) > 0
    with pytest.raises(NotImplementedError):
        model.update_config(a=1)
    with pytest.raises(NotImplementedError):
        model.structured_output()


# -- turns

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$bytes", "$plain", "a", "b"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_encoded_is_json_and_decodes_to_itself(value: Any) -> None:
    assert decode(json.loads(json.dumps(encode(value)))) == value


def results(*ids: str) -> Any:
    return {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": i, "status": "success", "content": []}} for i in ids],
    }


def uses(*ids: str) -> Any:
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": i, "name": f"n{i}", "input": {}}} for i in ids]}


@given(st.permutations(["a", "b", "c"]))
def test_tool_results_are_put_into_the_order_of_their_requests(order: list[str]) -> None:
    messages = [{"role": "user", "content": [{"text": "go"}]}, uses("a", "b", "c"), results(*order)]
    assert in_request_order(messages)[2] == results("a", "b", "c")


def test_a_model_is_sent_the_results_in_the_order_of_their_requests() -> None:
    inner = Script("done", "done")
    host = RunContext()

    async def ask(key: str, order: tuple[str, ...]) -> None:
        messages = [{"role": "user", "content": [{"text": "go"}]}, uses("a", "b"), results(*order)]
        async for _ in JournaledModel(inner, SETTINGS, host.scope(key)).stream(messages, [], None):
            pass

    run(ask("one", ("a", "b")))
    run(ask("two", ("b", "a")))
    assert inner.requests[0]["messages"] == inner.requests[1]["messages"]
    assert len({row.digest for row in host.rows().values()}) == 1


def test_other_blocks_stay_behind_the_results() -> None:
    mixed = results("b", "a")
    mixed["content"].insert(0, {"text": "also"})
    assert [next(iter(block)) for block in in_request_order([uses("a", "b"), mixed])[1]["content"]] == [
        "toolResult",
        "toolResult",
        "text",
    ]


def test_a_request_is_described_by_its_last_message() -> None:
    assert request_text([]) == ""
    assert request_text([uses("a"), results("a")]) == "na: success"


def test_broken_arguments_are_found_in_the_stream() -> None:
    events = turn_events(
        [("one", '{"a": 1}'), ("two", '{"a": '), ("three", ""), ("four", "  "), ("five", '{"a": NaN}')], 1
    )
    assert broken_inputs(events) == {"t1-1": '{"a": ', "t1-4": '{"a": NaN}'}
    assert broken_inputs(turn_events("text", 1)) == {}


def test_ids_that_are_taken_are_replaced_and_others_left() -> None:
    ids = ToolUseIds([uses("a", "a-1")])

    def repaired(given_: Any) -> str:
        event = {"contentBlockStart": {"start": {"toolUse": {"name": "x", "toolUseId": given_}}}}
        fixed: str = ids.repaired(event)["contentBlockStart"]["start"]["toolUse"]["toolUseId"]
        return fixed

    assert [repaired(one) for one in ("b", "a", "b", "", None)] == ["b", "a-2", "b-1", "call-1", "call-2"]
    assert ids.repaired({"messageStart": {}}) == {"messageStart": {}}
