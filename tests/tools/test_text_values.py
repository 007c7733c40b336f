"""A text that represents a value is checked against a schema as that value."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.tools.schema.schemas import problem_of_text


@pytest.mark.parametrize(
    ("schema", "text", "fits"),
    [
        ({"type": "string"}, "hello", True),
        ({"type": "string"}, "42", True),
        ({"type": "string"}, '{"a": 1}', True),
        ({"type": ["string", "null"]}, "true", True),
        ({"type": "string", "maxLength": 1}, "42", False),
        ({"enum": ["good"]}, '"good"', True),
        ({"type": "integer"}, "42", True),
        ({"type": "integer"}, "many", False),
        ({"required": ["a"]}, "{}", False),
        ({"type": "object"}, '"{}"', False),
        ({"type": "string"}, "[" * 100_000, True),
    ],
)
def test_text_is_json_where_that_is_meant(schema: dict[str, Any], text: str, fits: bool) -> None:
    assert (problem_of_text(schema, text) is None) is fits
