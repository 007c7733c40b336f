"""Names of properties that services do not admit, on the way to a model and back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from strands_cli.tools.property_names import PropertyNames, followed
from strands_cli.tools.schema.schemas import first_problem

DEEP = {
    "type": "object",
    "$defs": {"F": {"type": "object", "properties": {"a b": {}, "next": {"$ref": "#/$defs/F"}}}},
    "properties": {
        "filter[name]": {"type": "string", "description": "A filter."},
        "名前": {"type": "string"},
        "x" * 70: {"type": "string"},
        "x" * 69 + "y": {"type": "string"},
        "list": {"type": "array", "items": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/F"}]}},
        "free": {"type": "object"},
        "ok-1.b_C": {"type": "string"},
    },
    "required": ["filter[name]", "名前"],
    "dependentRequired": {"名前": ["filter[name]"]},
}
VALUE = {
    "filter[name]": "n",
    "名前": "太郎",
    "x" * 70: "1",
    "x" * 69 + "y": "2",
    "list": [None, {"a b": 1, "next": {"a b": 2}}],
    "free": {"filter[name]": 1, "a_b": 2},
    "ok-1.b_C": "",
}


def of(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "t", "description": "d", "inputSchema": {"json": schema}}]


def turn(tool: str, *pieces: str) -> list[dict[str, Any]]:
    start = {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "1", "name": tool}}}}
    return [
        start,
        *({"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}}} for piece in pieces),
        {"contentBlockStop": {}},
    ]


def arguments_in(events: list[dict[str, Any]]) -> Any:
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    return json.loads("".join(delta["toolUse"]["input"] for delta in deltas))


def names_in(schema: Any) -> set[str]:
    if not isinstance(schema, dict):
        return {name for one in schema for name in names_in(one)} if isinstance(schema, list) else set()
    return {*schema.get("properties", {}), *(name for part in schema.values() for name in names_in(part))}


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "openai", "gemini", "ollama", "other"])
def test_every_name_is_admitted_and_comes_back_as_it_was(provider: str) -> None:
    names = PropertyNames.of(of(DEEP), provider)
    (spec,) = names.specs or ()
    offered = spec["inputSchema"]["json"]
    for name in names_in(offered):
        assert name.replace("-", "").replace(".", "").replace("_", "").isascii()
        assert 1 <= len(name) <= 64
    (message,) = names.sent([{"role": "assistant", "content": [{"toolUse": {"name": "t", "input": VALUE}}]}])
    written = message["content"][0]["toolUse"]["input"]
    assert first_problem(offered, written) is None
    assert written["free"] == VALUE["free"]
    text = json.dumps(written)
    assert arguments_in(names.restored(turn("t", text[:30], text[30:]))) == VALUE


INNER = {"type": "object", "properties": {"a b": {"type": "string"}}}
PLACES: dict[str, tuple[dict[str, Any], Any]] = {
    "the first items": ({"properties": {"l": {"prefixItems": [INNER, {}]}}}, {"l": [{"a b": "1"}, "x"]}),
    "items by place": ({"properties": {"l": {"items": [INNER, {}]}}}, {"l": [{"a b": "1"}, "x"]}),
    "items that are held": ({"properties": {"l": {"contains": INNER}}}, {"l": [{"a b": "1"}]}),
    "names by pattern": ({"patternProperties": {"^x": INNER}}, {"x y": {"a b": "1"}}),
    "other names": ({"unevaluatedProperties": INNER}, {"x y": {"a b": "1"}}),
    "a condition": ({"if": {}, "then": INNER, "else": {}}, {"a b": "1"}),
    "what depends": ({"dependentSchemas": {"k": INNER}, "properties": {"k": {}}}, {"k": 1, "a b": "1"}),
    "a reference to a property": (
        {"properties": {"c d": INNER, "e": {"$ref": "#/properties/c%20d"}}},
        {"c d": {"a b": "1"}, "e": {"a b": "2"}},
    ),
    "a reference into a list": (
        {"anyOf": [{"properties": {"c/d": INNER}}, {"properties": {"e": {"$ref": "#/anyOf/0/properties/c~1d"}}}]},
        {"e": {"a b": "2"}},
    ),
}


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@pytest.mark.parametrize(("schema", "value"), PLACES.values(), ids=PLACES)
def test_a_name_comes_back_wherever_a_schema_has_it(schema: dict[str, Any], value: Any, provider: str) -> None:
    names = PropertyNames.of(of({"type": "object", **schema}), provider)
    assert names.specs is not None
    offered = names.specs[0]["inputSchema"]["json"]
    assert "a_b" in json.dumps(offered)
    for ref in re.findall(r'"\$ref": "([^"]+)"', json.dumps(offered)):
        assert followed(offered, {"$ref": ref}), ref
    (sent,) = names.sent([{"role": "assistant", "content": [{"toolUse": {"name": "t", "input": value}}]}])
    called = sent["content"][0]["toolUse"]["input"]
    assert "a b" not in json.dumps(called)
    assert arguments_in(names.restored(turn("t", json.dumps(called)))) == value


def test_a_name_forty_levels_down_comes_back() -> None:
    schema: dict[str, Any] = INNER
    value: Any = {"a b": "1"}
    for _ in range(40):
        schema, value = {"type": "object", "properties": {"c d": schema}}, {"c d": value}
    names = PropertyNames.of(of(schema), "anthropic")
    called = json.dumps(value).replace("a b", "a_b").replace("c d", "c_d")
    assert arguments_in(names.restored(turn("t", called))) == value


def test_what_is_admitted_is_sent_as_before() -> None:
    plain = of({"type": "object", "properties": {"ok-1.b_C": {"type": "string"}}})
    names = PropertyNames.of(plain, "anthropic")
    assert names.specs == plain
    events = turn("t", '{"ok-1.b_C"', ': "x"}')
    assert names.restored(events) == events


def test_a_recording_has_the_names_of_the_tool() -> None:
    assert PropertyNames.of(of(DEEP), "replay").specs == of(DEEP)


@pytest.mark.parametrize(("text", "value"), [(r'{"a": "\ud83d"}', "\ufffd"), (r'{"a": "\\ud83d"}', r"\ud83d")])
def test_half_a_character_in_a_call_is_replaced(text: str, value: str) -> None:
    assert arguments_in(PropertyNames.of(None, "openai").restored(turn("t", text[:8], text[8:]))) == {"a": value}


def test_arguments_that_are_no_json_stay() -> None:
    events = turn("t", '{"filter_name": ')
    assert PropertyNames.of(of(DEEP), "anthropic").restored(events) == events
