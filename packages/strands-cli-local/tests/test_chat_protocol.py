from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from strands_cli.api import InvalidInput
from strands_cli_local.chat_answer import AnswerReader
from strands_cli_local.chat_request import Form, Turn, turn_of, written

ASKED = [{"role": "user", "content": [{"text": "What is 2 + 2?"}]}]
ADD = {
    "name": "add",
    "description": "Add numbers.",
    "inputSchema": {"json": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
}
MULTIPLY = {**ADD, "name": "multiply"}
FINAL = {**ADD, "name": "final_answer", "description": "IMPORTANT: This StructuredOutputTool should come last."}
CONVERSATION = [
    *ASKED,
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm"}}},
            {"text": "I add."},
            {"toolUse": {"name": "add", "toolUseId": "t1", "input": {"a": 2}}},
        ],
    },
    {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "t1", "status": "error", "content": [{"json": [1]}, {"text": "x"}]}}],
    },
]


def schema_of(turn: Turn) -> Any:
    return turn.body["response_format"]["json_schema"]["schema"]


def test_a_turn_without_tools_is_text() -> None:
    turn = turn_of(ASKED, "Be brief.", [], None, by_template=None)
    roles = [(one["role"], one["content"]) for one in turn.body["messages"]]
    assert (turn.form, roles) == (Form.TEXT, [("system", "Be brief."), ("user", "What is 2 + 2?")])
    assert "response_format" not in turn.body


def test_a_template_with_tools_gets_them_and_a_conversation_with_roles() -> None:
    turn = turn_of(CONVERSATION, "", [ADD], {"auto": {}}, by_template=True)
    assert turn.form is Form.TEMPLATE
    assert turn.body["tools"][0]["function"]["parameters"] == ADD["inputSchema"]["json"]
    _, called, result = turn.body["messages"]
    assert called["content"] == "I add."
    assert called["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 2}'}
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "t1", "error: [1]\nx")


def test_a_template_without_tools_gets_the_conversation_as_text() -> None:
    _, called, result = written(CONVERSATION, "", as_roles=False)
    assert called["content"].startswith("I add.")
    assert json.loads(called["content"].partition("\n\n")[2]) == {"tool": "add", "arguments": {"a": 2}}
    assert result["role"] == "user"
    assert result["content"].endswith("error: [1]\nx")


def test_tools_without_a_way_to_call_them_are_an_error_with_the_option() -> None:
    with pytest.raises(InvalidInput, match="add, multiply") as raised:
        turn_of(ASKED, "", [ADD, MULTIPLY], None, by_template=None)
    assert "tool_calls: grammar" in str(raised.value.fix)


def test_a_grammar_admits_calls_of_each_tool_and_an_answer() -> None:
    turn = turn_of(ASKED, "", [ADD, MULTIPLY], None, by_template=False)
    assert turn.form is Form.CHOICE
    forms = schema_of(turn)["anyOf"]
    assert [one["properties"].get("tool") for one in forms] == [{"const": "add"}, {"const": "multiply"}, None]
    assert "Add numbers." in turn.body["messages"][0]["content"]


def test_a_structured_answer_is_the_only_answer_under_a_grammar() -> None:
    turn = turn_of(ASKED, "", [ADD, FINAL], None, by_template=False)
    names = [one["properties"]["tool"]["const"] for one in schema_of(turn)["anyOf"]]
    assert names == ["add", "final_answer"]


@pytest.mark.parametrize(
    ("tools", "choice", "by_template", "name"),
    [
        ([ADD], {"any": {}}, None, "add"),
        ([ADD, FINAL], {"tool": {"name": "final_answer"}}, True, "final_answer"),
        ([FINAL], None, None, "final_answer"),
        ([FINAL], {"auto": {}}, False, "final_answer"),
    ],
)
def test_a_forced_call_is_bounded_by_the_schema_of_its_tool(
    tools: list[Any], choice: Any, by_template: bool | None, name: str
) -> None:
    turn = turn_of(ASKED, "", tools, choice, by_template=by_template)
    assert (turn.form, turn.forced) == (Form.FORCED, name)
    assert schema_of(turn) == ADD["inputSchema"]["json"]


def test_a_block_that_is_not_text_is_an_error() -> None:
    message = {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b""}}}]}
    with pytest.raises(InvalidInput, match="'image'"):
        turn_of([message], "", [], None, by_template=None)


def events(turn: Turn, chunks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    reader = AnswerReader(turn)
    found = [*reader.begin()]
    for chunk in chunks:
        found += reader.read(chunk)
    return [*found, *reader.end()]


def deltas(*given: dict[str, Any], stop: str = "stop") -> list[dict[str, Any]]:
    found = [{"choices": [{"index": 0, "finish_reason": None, "delta": one}]} for one in given]
    return [*found, {"choices": [{"index": 0, "finish_reason": stop, "delta": {}}]}]


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [next(iter(one)) for one in found]


def test_text_and_thoughts_are_blocks_of_their_own() -> None:
    turn = Turn(Form.TEXT, {})
    chunks = deltas({"role": "assistant", "content": None}, {"reasoning_content": "hm"}, {"content": "4"}, {})
    found = events(turn, chunks)
    block = ["contentBlockStart", "contentBlockDelta", "contentBlockStop"]
    assert kinds(found) == ["messageStart", *block, *block, "messageStop"]
    assert found[2]["contentBlockDelta"]["delta"] == {"reasoningContent": {"text": "hm"}}
    assert found[-1] == {"messageStop": {"stopReason": "end_turn"}}


def test_calls_of_a_template_are_distinguished_by_their_index() -> None:
    def call(index: int, **function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": index, "id": f"c{index}", "function": function}]}

    chunks = deltas(call(0, name="add", arguments="{"), call(0, arguments="}"), call(1, name="add"), stop="tool_calls")
    found = events(Turn(Form.TEMPLATE, {}), chunks)
    starts = [one["contentBlockStart"]["start"]["toolUse"] for one in found if "contentBlockStart" in one]
    assert [one["toolUseId"] for one in starts] == ["c0", "c1"]
    assert kinds(found).count("contentBlockStop") == 2
    assert found[-1] == {"messageStop": {"stopReason": "tool_use"}}


def test_a_forced_answer_streams_as_the_input_of_its_tool() -> None:
    found = events(Turn(Form.FORCED, {}, "final_answer"), deltas({"content": '{"a":'}, {"content": "4}"}))
    assert found[1]["contentBlockStart"]["start"]["toolUse"]["name"] == "final_answer"
    parts = [one["contentBlockDelta"]["delta"]["toolUse"]["input"] for one in found if "contentBlockDelta" in one]
    assert parts == ['{"a":', "4}"]
    assert found[-1] == {"messageStop": {"stopReason": "tool_use"}}


def test_a_choice_is_a_call_or_an_answer() -> None:
    called = events(
        Turn(Form.CHOICE, {}), deltas({"content": '{"tool": "add", "argu'}, {"content": 'ments": {"a": 1}}'})
    )
    assert called[1]["contentBlockStart"]["start"]["toolUse"]["name"] == "add"
    assert called[2]["contentBlockDelta"]["delta"]["toolUse"]["input"] == '{"a": 1}'
    answered = events(Turn(Form.CHOICE, {}), deltas({"content": '{"answer": "four"}'}))
    assert answered[2]["contentBlockDelta"]["delta"] == {"text": "four"}
    assert answered[-1] == {"messageStop": {"stopReason": "end_turn"}}


@pytest.mark.parametrize("form", [Form.CHOICE, Form.FORCED, Form.TEXT])
def test_an_answer_that_was_cut_says_so_whatever_its_form(form: Form) -> None:
    found = events(Turn(form, {}, "final_answer"), deltas({"content": '{"tool": "ad'}, stop="length"))
    assert found[-1] == {"messageStop": {"stopReason": "max_tokens"}}
    assert kinds(found).count("contentBlockStart") == kinds(found).count("contentBlockStop")


def test_usage_is_counted_from_the_chunk_that_has_it() -> None:
    reader = AnswerReader(Turn(Form.TEXT, {}))
    assert list(reader.read({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})) == []
    assert reader.usage == {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}
