"""A value is read as the type its input declares, or refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.sections import InputSpec, coerce, type_word_of
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording
from tests.workflow.spoiled import chain

READ: list[tuple[str, Any, Any]] = [
    ("string", "x", "x"),
    ("string", 5, "5"),
    ("string", True, "true"),
    ("integer", "5", 5),
    ("integer", 5.0, 5),
    ("number", "1.5", 1.5),
    ("number", "2", 2),
    ("number", 3, 3),
    ("boolean", "yes", True),
    ("boolean", " OFF ", False),
    ("boolean", True, True),
    ("array", "[1, 2]", [1, 2]),
    ("array", [1], [1]),
    ("object", '{"a": 1}', {"a": 1}),
]
NOT_READ: list[tuple[str, Any]] = [
    ("integer", "x"),
    ("integer", "1.5"),
    ("integer", 1.5),
    ("integer", True),
    ("number", "NaN"),
    ("number", "Infinity"),
    ("number", ""),
    ("boolean", "maybe"),
    ("boolean", 1),
    ("array", "a, b"),
    ("array", '{"a": 1}'),
    ("object", "[1]"),
    ("object", "null"),
    ("string", [1]),
    ("string", None),
    ("array", "[" * 100_000),
]


@pytest.mark.parametrize(("word", "value", "expected"), READ)
def test_a_value_is_read_as_its_type(word: Any, value: Any, expected: Any) -> None:
    found = InputSpec(type=word).coerced(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("word", "value"), NOT_READ, ids=range(len(NOT_READ)))
def test_a_value_that_does_not_fit_is_refused(word: Any, value: Any, wording: Wording) -> None:
    with pytest.raises(ValueError) as raised:
        InputSpec(type=word).coerced(value)
    wording(raised.value)


def test_a_value_outside_the_enum_is_refused_by_name(wording: Wording) -> None:
    spec = InputSpec(type="integer", enum=(1, 2))
    assert spec.coerced("2") == 2
    with pytest.raises(ValueError) as raised:
        spec.coerced("3")
    wording(raised.value)


@given(st.text() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_reading_what_was_read_changes_nothing(value: Any) -> None:
    once = coerce(type_word_of(value), value)
    assert once == value
    assert coerce("string", coerce("string", value)) == coerce("string", value)


def test_a_variable_that_no_input_declares_is_found_with_its_place() -> None:
    step = "{agent: alpha, input: '{{ topik }} {{ topic }} {{ q | default(1) }}'}"
    found = load_spec(read_document("f", chain(step))).findings
    places = [one.where.pointer for one in found if one.code == UNDECLARED_VARIABLE and one.where is not None]
    assert places == ["/pattern/config/steps/0/input"]
