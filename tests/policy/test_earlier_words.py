"""Earlier names of inputs are read as the present ones, in one way by the program and by the tools' kit."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.catalog.manifest import doubled, in_present_words, renamed, word_faults
from strands_tool_kit import ToolError, read_input

SCHEMA: dict[str, Any] = {
    "properties": {
        "path": {"type": "string"},
        "query": {"type": "object"},
        "json": {"type": "object"},
        "form": {"type": "string"},
    },
    "additionalProperties": False,
}
WORDS = {"json_data": "json", "data": "json", "mode": "form", "path": "?query"}


@pytest.mark.parametrize(
    ("written", "present"),
    [
        ({"json_data": {"a": 1}}, {"json": {"a": 1}}),
        ({"mode": "x", "json": None}, {"form": "x", "json": None}),
        ({"data": {}, "json_data": None}, {"json": {}}),
        ({"mode": None}, {"form": None}),
        ({"mode": None, "form": "x"}, {"form": "x"}),
        ({"mode": "x", "form": None}, {"form": "x"}),
        ({"path": "/a?b=1&c=%20+d"}, {"path": "/a", "query": {"b": "1", "c": "  d"}}),
        ({"path": "/a?b=1", "query": {"c": 2}}, {"path": "/a", "query": {"c": 2, "b": "1"}}),
        ({"path": "/a?b=1", "query": None}, {"path": "/a", "query": {"b": "1"}}),
        ({"path": "/a?"}, {"path": "/a", "query": {}}),
        ({"path": "/a?b=?c"}, {"path": "/a", "query": {"b": "?c"}}),
    ],
)
def test_a_call_is_read_in_present_words(written: dict[str, Any], present: dict[str, Any]) -> None:
    before = copy.deepcopy(written)
    assert in_present_words(WORDS, SCHEMA, written) == present
    assert written == before


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"form": "x"},
        {"form": "x", "mode": "y"},
        {"path": "/a?b=1&b=2"},
        {"path": "/a?b=1", "query": {"b": 2}},
        {"path": "/a?b=1", "query": "c=2"},
        {"path": "/a?b=1#c"},
        {"path": "/a?b=%ff"},
        {"path": "/a?" + "&" * 1001},
        {"path": 5},
        [],
        "mode",
        None,
    ],
)
def test_what_has_no_one_meaning_stays_as_it_is_written(written: Any) -> None:
    assert in_present_words(WORDS, SCHEMA, written) is written


def test_of_two_earlier_names_for_one_input_the_second_stays() -> None:
    both = {"data": {"a": 1}, "json_data": {"a": 2}}
    assert in_present_words(WORDS, SCHEMA, both) == {"data": {"a": 1}, "json": {"a": 2}}
    assert renamed(WORDS, SCHEMA, both) == {"json_data": "json"}


@pytest.mark.parametrize(
    "words",
    [
        {"form": "path"},
        {"form": "path", "path": "form"},
        {"mode": "style"},
        {"mode": "data", "data": "mode"},
        {"mode": ""},
        {"mode": "?"},
        {"mode": "?query"},
        {"query": "?query"},
        {"path": "?style"},
        {"mode": ["form"]},
        {"mode": {"form": "x"}},
        {"mode": None},
    ],
)
def test_names_that_mean_nothing_change_no_call(words: dict[str, Any]) -> None:
    assert [word for word, _ in word_faults(words, SCHEMA)] == list(words)
    written = {"mode": "x", "form": "y", "path": "/a?b", "data": 1}
    assert in_present_words(words, SCHEMA, written) is written


@pytest.mark.parametrize("words", [None, "mode", ["mode"], 5])
def test_a_statement_of_another_kind_changes_no_call(words: Any) -> None:
    written = {"mode": "x"}
    assert in_present_words(words, SCHEMA, written) is written


def test_a_name_is_followed_once() -> None:
    words = {"a": "form", "b": "a"}
    assert in_present_words(words, SCHEMA, {"b": "x"}) == {"b": "x"}
    assert in_present_words(words, SCHEMA, {"a": "x", "b": "y"}) == {"form": "x", "b": "y"}


@pytest.mark.parametrize(
    ("present", "is_double"),
    [
        ({"form": "x", "mode": "y"}, True),
        ({"json": {}, "data": {}}, True),
        ({"path": "/a?b", "query": {}}, False),
        ([], False),
    ],
)
def test_two_names_for_one_input_are_a_problem_whatever_the_schema_allows(present: Any, is_double: bool) -> None:
    assert (doubled(WORDS, SCHEMA, present) is not None) is is_double
    assert doubled(None, SCHEMA, present) is None


TEXTS = st.text(st.sampled_from("/a?&=#%2") | st.characters(), max_size=12)
ENTRIES = st.none() | st.dictionaries(st.sampled_from("ab?"), st.integers(), max_size=2)
CALLS = st.fixed_dictionaries(
    {},
    optional={"path": TEXTS, "query": ENTRIES, "json": ENTRIES, "json_data": ENTRIES, "data": ENTRIES, "mode": TEXTS},
)


@given(CALLS)
def test_the_program_and_the_kit_read_a_call_alike(written: dict[str, Any]) -> None:
    spec = {"name": "t", "inputSchema": {"json": SCHEMA}}
    use = {"toolUseId": "1", "name": "t"}
    present = in_present_words(WORDS, SCHEMA, written)
    assert _read(use, present, spec) == _read(use, written, {**spec, "strands_cli": {"earlier": WORDS}})


def _read(use: dict[str, Any], values: Any, spec: dict[str, Any]) -> Any:
    try:
        return read_input({**use, "input": values}, spec)
    except ToolError as error:
        return error.details
