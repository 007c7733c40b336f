"""A schema that is accepted at first sight is one that the library accepts too; a wrong one is looked at by it."""

from __future__ import annotations

import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.errors import Where
from strands_cli.workflow.checks.check_pattern import _is_plain, check_schema

HERE = Where("flow.yaml")
KEYWORDS = st.sampled_from(
    (
        *("type", "required", "enum", "properties", "$defs", "items", "additionalProperties", "title", "description"),
        *("const", "default", "minLength", "maxItems", "minimum", "maximum", "pattern", "$ref", "anyOf", "format"),
    )
)
VALUES = st.recursive(
    st.sampled_from([True, False, None, 0, -1, 1.5, 3, "string", "object", "text", "#/$defs/a", "["]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.hostile
@settings(max_examples=2000, deadline=None)
@given(st.dictionaries(KEYWORDS, VALUES, max_size=4))
def test_what_is_plain_is_valid(schema: dict[str, Any]) -> None:
    if _is_plain(schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert check_schema(schema, HERE) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"type": []},
        {"type": ["string", "string"]},
        {"type": 5},
        {"required": "name"},
        {"required": ["name", "name"]},
        {"enum": "a"},
        {"properties": {"name": 5}},
        {"properties": ["name"]},
        {"properties": {"name": {"type": "array", "items": {"minLength": -1}}}},
        {"minLength": True},
        {"maximum": "9"},
        {"title": 5},
        {"anyOf": []},
        {"$ref": "other.json"},
    ],
    ids=str,
)
def test_a_wrong_schema_is_found(schema: dict[str, Any]) -> None:
    finding = check_schema(schema, HERE)
    assert finding is not None
    assert finding.code == "bad-schema"


def test_a_plain_schema_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema.validators", None)
    answer = {"type": "object", "properties": {"label": {"type": "string", "enum": ["a"]}}, "required": ["label"]}
    assert check_schema({**answer, "additionalProperties": False, "title": "Answer"}, HERE) is None
    with pytest.raises(ImportError):
        check_schema({**answer, "format": "date"}, HERE)
