from __future__ import annotations

from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from tests.distributions import sound
from tests.fakes.plans import chain_of, found
from tests.wordings import Wording

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}, "mode": {"enum": ["a", "b"]}},
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.fixture
def site(tmp_path: Any) -> Any:
    sound(tmp_path, "reader", input_schema=SCHEMA, annotations={"readOnlyHint": True})
    return tmp_path


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ("{count: 2}", ""),
        ("{path: a, cuont: 2}", "/cuont"),
        ("{path: 4}", "/path"),
        ("{path: a, mode: c}", "/mode"),
        ("{path: a, count: 1.5}", "/count"),
        ("{path: a, count: true}", "/count"),
    ],
)
def test_what_the_gate_would_refuse_is_found_before_the_run(
    site: Any, given: str, wording: Wording, pointer: str
) -> None:
    planned = chain_of(f"- {{tool: native:reader, input: {given}}}", catalog=discover_catalog([str(site)]))
    (finding,) = found(planned, "tool-input")
    wording(finding.message)
    assert finding.where is not None
    assert finding.where.pointer == f"/pattern/config/steps/0/input{pointer}"
    assert finding.severity == "error"


def test_a_misspelt_name_gets_the_right_one_as_its_fix(site: Any) -> None:
    planned = chain_of("- {tool: native:reader, input: {path: a, cuont: 2}}", catalog=discover_catalog([str(site)]))
    assert [one.fix for one in found(planned, "tool-input")] == ["did you mean 'count'?"]


def test_a_key_that_is_given_is_not_what_another_one_means(site: Any) -> None:
    planned = chain_of("- {tool: native:reader, input: {path: a, paht: b}}", catalog=discover_catalog([str(site)]))
    assert [one.fix for one in found(planned, "tool-input")] == ["it takes: path, count, mode"]


def test_a_value_that_a_template_gives_is_left_to_the_run(site: Any) -> None:
    steps = """- {tool: native:reader, input: {path: a}}
- {tool: native:reader, input: {path: "{{ steps[0].response }}", count: "{{ steps[0].index + 1 }}"}}"""
    assert found(chain_of(steps, catalog=discover_catalog([str(site)])), "tool-input") == []


@pytest.mark.parametrize(
    ("given", "pointers"),
    [
        ("{place: a, number: 2, kind: a}", []),
        ("{place: a, number: two}", ["/number"]),
        ("{place: a, kind: c}", ["/kind"]),
        ("{place: a, number: 2, count: 3}", ["/number"]),
        ("{number: 2}", [""]),
    ],
)
def test_earlier_names_of_inputs_are_checked_as_the_present_ones(
    tmp_path: Any, given: str, pointers: list[str]
) -> None:
    earlier = {"place": "path", "number": "count", "kind": "mode"}
    sound(tmp_path, "reader", input_schema=SCHEMA, strands_cli={"earlier": earlier}, annotations={"readOnlyHint": True})
    planned = chain_of(f"- {{tool: native:reader, input: {given}}}", catalog=discover_catalog([str(tmp_path)]))
    places = [one.where.pointer for one in found(planned, "tool-input") if one.where is not None]
    assert places == [f"/pattern/config/steps/0/input{pointer}" for pointer in pointers]
