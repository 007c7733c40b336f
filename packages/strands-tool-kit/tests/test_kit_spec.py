"""The parts of a spec are the JSON Schema and the annotations that a literal TOOL_SPEC would have."""

from __future__ import annotations

from typing import Any

import pytest

from strands_tool_kit import ToolError, read_input
from strands_tool_kit.spec import (
    array,
    boolean,
    capabilities,
    choice,
    hints,
    inputs,
    integer,
    mapping,
    number,
    outputs,
    record,
    string,
)


@pytest.mark.parametrize(
    ("made", "meant"),
    [
        (string(), {"type": "string"}),
        (
            string("A name.", length=(1, 9)),
            {"type": "string", "minLength": 1, "maxLength": 9, "description": "A name."},
        ),
        (string(length=(None, 9), default="."), {"type": "string", "maxLength": 9, "default": "."}),
        (string(pattern="^/"), {"type": "string", "pattern": "^/"}),
        (choice(["a", "b"], default="a"), {"type": "string", "enum": ["a", "b"], "default": "a"}),
        (integer("How many.", between=(1, None)), {"type": "integer", "minimum": 1, "description": "How many."}),
        (integer(between=(0, 9), default=0), {"type": "integer", "minimum": 0, "maximum": 9, "default": 0}),
        (number(between=(0.5, 1)), {"type": "number", "minimum": 0.5, "maximum": 1}),
        (boolean("Whether.", default=False), {"type": "boolean", "default": False, "description": "Whether."}),
        (array(string(), maxItems=3), {"type": "array", "items": {"type": "string"}, "maxItems": 3}),
        (
            mapping(integer(), "By name."),
            {"type": "object", "additionalProperties": {"type": "integer"}, "description": "By name."},
        ),
        (
            record({"a": string(), "b": string()}, optional=["b"]),
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]},
        ),
    ],
)
def test_a_rule_is_what_json_schema_writes(made: dict[str, Any], meant: dict[str, Any]) -> None:
    assert made == meant
    assert next(iter(made)) == "type"
    assert list(made)[-1] == "description" or "description" not in made


def test_inputs_take_nothing_else_and_outputs_have_all_but_the_optional() -> None:
    properties = {"a": string(), "b": integer()}
    assert inputs(properties, required=["b"]) == {
        "json": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["b"],
            "additionalProperties": False,
        }
    }
    assert inputs(properties)["json"]["required"] == []
    made = outputs(properties, optional=["b"])["json"]
    assert (made["required"], "additionalProperties" in made) == (["a"], False)
    assert outputs(properties, additionalProperties=False)["json"]["additionalProperties"] is False


def test_a_tool_that_states_nothing_asks_for_nothing() -> None:
    assert capabilities() == {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []}
    asked = capabilities(network=["api.test"], filesystem="write", subprocess=True, env=["HOME"], secrets=["KEY"])
    assert asked == {
        "network": ["api.test"],
        "filesystem": [{"path": ".", "mode": "write"}],
        "subprocess": True,
        "env": ["HOME"],
        "secrets": ["KEY"],
    }


def test_hints_are_those_of_mcp() -> None:
    assert hints("Read", reads_only=True) == {
        "title": "Read",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    changes = hints("Send", reads_only=False, destructive=True, idempotent=False, open_world=True)
    assert [changes[f"{name}Hint"] for name in ("readOnly", "destructive", "idempotent", "openWorld")] == [
        *(False, True, False, True)
    ]


@pytest.mark.parametrize("value", [True, False, "basic"])
def test_an_input_of_several_types_takes_each(value: object) -> None:
    assert read_input({"input": {"answer": value}}, SEVERAL) == {"answer": value}


@pytest.mark.parametrize("value", ["other", 1, [True]])
def test_an_input_of_several_types_takes_no_other(value: object) -> None:
    with pytest.raises(ToolError) as caught:
        read_input({"input": {"answer": value}}, SEVERAL)
    assert (caught.value.details["reason"], caught.value.details["field"]) == ("enum", "answer")
    assert "basic" in str(caught.value)


SEVERAL = {"name": "probe", "inputSchema": inputs({"answer": {"anyOf": [boolean(), choice(["basic", "advanced"])]}})}
