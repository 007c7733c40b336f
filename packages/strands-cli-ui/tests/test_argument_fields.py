"""The fields of the arguments of a call, and what a person has typed into them as values."""

from __future__ import annotations

import pytest

from strands_cli.api import UsageError
from strands_cli_ui.views.argument_fields import argument_fields, changed_arguments
from tests.parsed_page import Parsed

SCHEMA = {
    "type": "object",
    "properties": {
        "order": {"type": "string", "description": "Its <number>"},
        "amount": {"type": "number"},
        "reason": {"type": "string", "enum": ["late", "damaged"]},
        "notify": {"type": "boolean"},
        "parts": {"type": "array"},
        "note": {"type": "string"},
    },
    "required": ["order"],
}
ARGUMENTS = {"order": "A-1", "amount": 23.0, "reason": "late", "notify": True, "parts": [1, {"a": 2}], "extra": None}
QUESTION = {"schema": SCHEMA, "call": {"arguments": ARGUMENTS}}
TEXTS = {
    "argument.order": "A-1",
    "argument.amount": "23.0",
    "argument.reason": "late",
    "argument.notify": "true",
    "argument.parts": '[1, {"a": 2}]',
    "argument.note": "",
    "argument.extra": "null",
}


def test_each_argument_has_a_field_of_its_type_with_its_value() -> None:
    text = argument_fields(QUESTION)
    assert Parsed(text).faults == []
    assert [text.count(part) for part in ("<textarea", "<select", "inputmode", " required", " selected")] == [
        4,
        2,
        1,
        1,
        2,
    ]
    assert "Its &lt;number&gt;" in text
    assert 'value="23.0"' in text


def test_unchanged_arguments_are_those_of_the_call() -> None:
    assert changed_arguments(QUESTION, TEXTS) is None
    assert changed_arguments(QUESTION, {}) is None


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("order", "B\n2", "B\n2"), ("order", "", ""), ("amount", "7", 7), ("notify", "false", False), ("note", "x", "x")],
)
def test_a_changed_text_is_a_value_of_the_type_of_its_argument(name: str, text: str, value: object) -> None:
    assert changed_arguments(QUESTION, {**TEXTS, f"argument.{name}": text}) == {**ARGUMENTS, name: value}


def test_an_argument_without_a_text_is_left_out_and_one_of_another_type_is_refused() -> None:
    changed = changed_arguments(QUESTION, {**TEXTS, "argument.amount": ""})
    assert changed == {name: value for name, value in ARGUMENTS.items() if name != "amount"}
    with pytest.raises(UsageError, match="parts"):
        changed_arguments(QUESTION, {**TEXTS, "argument.parts": "[1"})


def test_a_change_that_was_refused_is_shown_again() -> None:
    tried = {**QUESTION, "tried": {**ARGUMENTS, "order": "C-3"}}
    assert "C-3" in argument_fields(tried)
    assert changed_arguments(tried, {**TEXTS, "argument.order": "C-3"}) == {**ARGUMENTS, "order": "C-3"}
