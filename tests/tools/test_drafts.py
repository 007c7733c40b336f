"""Schemas of other drafts and patterns of JavaScript: what values fit, and a note about what is not checked."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.tools.schema.schemas import first_problem, prepared, require_schema
from strands_cli.tools.schema.validators import unchecked_patterns
from strands_cli.tools.schema_for_provider import offered_schema

DRAFT4 = "http://json-schema.org/draft-04/schema#"


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("part", "good", "bad"),
    [
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, 1, 2),
        ({"type": "string", "nullable": True}, None, 1),
        ({"type": "string", "enum": ["a"], "nullable": True}, None, "b"),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, ["a"], ["a", "b"]),
        ({"type": "object", "properties": {"a": {"type": "string", "required": True}}}, {"a": ""}, {}),
        ({"$schema": DRAFT4, "type": "number", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
    ],
)
def test_a_rule_of_an_earlier_draft_means_what_it_meant(part: dict[str, Any], good: Any, bad: Any) -> None:
    for schema in (of(a=part), {**of(a=part), **({"$schema": DRAFT4} if "$schema" in part else {})}):
        require_schema(schema)
        assert first_problem(schema, {"a": good}) is None
        assert first_problem(schema, {"a": bad}) is not None
        offered, _ = offered_schema(schema, "anthropic")
        assert "exclusiveMinimum" not in str(offered) or "True" not in str(offered)


def test_a_null_that_is_allowed_reaches_the_tool() -> None:
    assert prepared(of(a={"type": "string", "nullable": True}), {"a": None}) == {"a": None}
    assert prepared(of(a={"type": "string"}), {"a": None}) == {}


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^(?<word>\p{L}+)$", "né", "1"),
        (r"^\d+$", "12", "١٢"),
        (r"^\w$", "a", "é"),
        ("/^ab+$/i", "ABB", "c"),
        ("^[^]$", "\n", "ab"),
        (r"^a\/b$", "a/b", "a"),
        (r"^(?<q>['\"]).*\k<q>$", "'a'", "'a\""),
        (r"^[[\]]$", "[", "a"),
        (r"^\u{1F600}|\u0041$", "\U0001f600", "B"),
        (r"^\cJ$", "\n", "J"),
        ("^/api/", "/api/x", "api"),
        (r"^(?=.)[a-c&&|~~||]+$", "a&|~", "d"),
        (r"^(?=a)\d?[\d-]*a", "a", "b"),
    ],
)
def test_a_pattern_is_read_as_javascript_reads_it(pattern: str, good: str, bad: str) -> None:
    schema = of(a={"type": "string", "pattern": pattern})
    require_schema(schema)
    assert unchecked_patterns(schema) == []
    assert first_problem(schema, {"a": good}) is None
    assert first_problem(schema, {"a": bad}) is not None
    named = {"type": "object", "patternProperties": {pattern: {}}, "additionalProperties": False}
    assert first_problem(named, {good: 1}) is None
    assert first_problem(named, {bad: 1}) is not None


@pytest.mark.parametrize("pattern", [r"\p{L}(?=x)", "(?<=a+)b", r"(?<a>x)|(?<a>y)(?=z)"])
def test_a_pattern_that_cannot_be_searched_is_reported_and_refuses_nothing(pattern: str) -> None:
    schema = of(a={"type": "string", "pattern": pattern}, b={"patternProperties": {pattern: {"type": "string"}}})
    require_schema(schema)
    assert unchecked_patterns(schema) == [pattern]
    assert first_problem(schema, {"a": "?", "b": {"?": 1}}) is None
