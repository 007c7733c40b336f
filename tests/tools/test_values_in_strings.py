"""Numbers and booleans in strings are read where the schema leaves no other meaning."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.tools.schema.flattened import coerced
from strands_cli.tools.schema.schemas import first_problem
from tests.agents.kit import Script

INTEGER, NUMBER, BOOLEAN, TEXT = ({"type": word} for word in ("integer", "number", "boolean", "string"))
NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("part", "written", "expected"),
    [
        (INTEGER, "5", 5),
        (INTEGER, " -12 ", -12),
        (INTEGER, "5.0", 5),
        (NUMBER, "5.0", 5.0),
        (NUMBER, "5", 5),
        (NUMBER, "2.5e3", 2500.0),
        (BOOLEAN, "true", True),
        (BOOLEAN, "False", False),
        ({"type": ["integer", "null"]}, "7", 7),
        ({"anyOf": [INTEGER, NULL]}, "7", 7),
        ({"oneOf": [INTEGER, BOOLEAN]}, "true", True),
        ({"enum": [1, 2]}, "2", 2),
        ({"$ref": "#/$defs/Count"}, "3", 3),
        ({"type": "array", "items": INTEGER}, ["1", 2, "x"], [1, 2, "x"]),
        ({"type": "object", "properties": {"n": NUMBER}}, {"n": "1", "m": "1"}, {"n": 1, "m": "1"}),
        ({"type": "object", "additionalProperties": INTEGER}, {"a": "1"}, {"a": 1}),
        ({"anyOf": [{"type": "object", "properties": {"n": INTEGER}}, NULL]}, {"n": "4"}, {"n": 4}),
    ],
)
def test_what_can_only_be_a_number_or_a_boolean_is_one(part: Any, written: Any, expected: Any) -> None:
    schema = {"type": "object", "properties": {"value": part}, "$defs": {"Count": INTEGER}}
    before = copy.deepcopy(written)
    found = coerced(schema, {"value": written})
    assert found == {"value": expected}
    assert type(found["value"]) is type(expected)
    assert written == before


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (TEXT, "5"),
        ({}, "5"),
        ({"type": ["integer", "string"]}, "5"),
        ({"anyOf": [INTEGER, TEXT]}, "5"),
        ({"anyOf": [INTEGER, {}]}, "5"),
        ({"enum": [1, "1"]}, "1"),
        (INTEGER, "5.5"),
        (INTEGER, "5.0e1"),
        (INTEGER, "five"),
        (INTEGER, "0x10"),
        (INTEGER, "1_000"),
        (INTEGER, "٥"),
        (INTEGER, "9" * 5000),
        (NUMBER, "nan"),
        (NUMBER, "1e999"),
        (BOOLEAN, "1"),
        (BOOLEAN, "yes"),
        (INTEGER, True),
        ({"$ref": "#/$defs/Loop"}, "5"),
    ],
)
def test_what_has_another_meaning_stays(part: Any, written: Any) -> None:
    schema = {"type": "object", "properties": {"value": part}, "$defs": {"Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}]}}}
    assert coerced(schema, {"value": written}) == {"value": written}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["1", "true", "1.5"]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from("ab"), parts, max_size=2),
    max_leaves=8,
)
PARTS = st.sampled_from([INTEGER, NUMBER, BOOLEAN, TEXT, NULL, {}, {"enum": [1, "1"]}])
SCHEMAS = PARTS | st.builds(lambda part, other: {"anyOf": [part, {"type": "array", "items": other}]}, PARTS, PARTS)


@given(part=SCHEMAS, value=VALUES)
def test_a_value_that_fits_is_never_changed(part: Any, value: Any) -> None:
    schema = {"type": "object", "properties": {"a": part, "b": part}}
    arguments = {"a": value, "b": [value]}
    if first_problem(schema, arguments) is None:
        assert coerced(schema, arguments) == arguments


def test_a_plain_tool_of_the_sdk_reads_them_too() -> None:
    from strands import Agent, tool

    calls: list[tuple[Any, Any]] = []

    @tool
    def add(days: int, exact: bool) -> str:
        """Add."""
        calls.append((days, exact))
        return "added"

    # The part of the SDK's behaviour that this follows.
    Agent(model=Script([("add", {"days": "5", "exact": "true"})], "done"), tools=[add], callback_handler=None)("go")
    assert calls == [(5, True)]
