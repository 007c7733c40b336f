from __future__ import annotations

import re
from typing import Any

import pytest

from strands_cli.errors import Finding, UsageError
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from tests.fakes.plans import chain_of, found
from tests.wordings import Wording


def plan_with(declared: str, *, values: dict[str, Any] | None = None, **given: str) -> Plan:
    options = RunRequest(variables=given, values=values or {})
    return chain_of("- {agent: writer, input: go}", rest=f"inputs:\n  {declared}\n", options=options)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "5", "5"),
        ("string", "", ""),
        ("string", " a=b ", " a=b "),
        ("integer", "5", 5),
        ("integer", "-5", -5),
        ("number", "5", 5),
        ("number", "2.5", 2.5),
        ("number", "1e3", 1000.0),
        ("boolean", "yes", True),
        ("boolean", "TRUE", True),
        ("boolean", "0", False),
        ("boolean", "off", False),
        ("array", '[1, "a"]', [1, "a"]),
        ("object", '{"a": [1]}', {"a": [1]}),
    ],
)
def test_a_text_is_read_as_the_declared_type(kind: str, text: str, value: object) -> None:
    plan = plan_with(f"required: {{x: {kind}}}", x=text)
    assert found(plan, "bad-input") == []
    assert plan.inputs["x"] == value
    assert type(plan.inputs["x"]) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "five"),
        ("integer", "2.5"),
        ("integer", ""),
        ("integer", "true"),
        ("number", "NaN"),
        ("number", '"5"'),
        ("boolean", "maybe"),
        ("boolean", "2"),
        ("array", "a,b"),
        ("array", '{"a": 1}'),
        ("object", "[1]"),
        ("object", "null"),
    ],
)
def test_a_text_that_is_not_of_the_type_is_found_where_it_is_declared(kind: str, text: str) -> None:
    (finding,) = found(plan_with(f"required: {{x: {kind}}}", x=text), "bad-input")
    assert "'x'" in finding.message
    assert kind in finding.message
    assert finding.where is not None
    assert (finding.where.line, finding.where.pointer) == (6, "/inputs/required/x")


@pytest.mark.parametrize(
    ("value", "fits"), [(5, True), (5.0, True), ("5", True), (5.5, False), (True, False), ([5], False)]
)
def test_a_value_that_has_a_type_is_checked_too(value: Any, fits: bool) -> None:
    plan = plan_with("required: {x: integer}", values={"x": value})
    assert (found(plan, "bad-input") == []) == fits
    assert not fits or plan.inputs["x"] == 5


@pytest.mark.parametrize(
    ("kind", "enum", "good", "bad"),
    [
        ("string", "[red, green]", "red", "gren"),
        ("integer", "[1, 2]", "2", "3"),
        ("boolean", "[true]", "yes", "no"),
    ],
)
def test_a_value_must_be_one_of_the_enum(kind: str, enum: str, good: str, bad: str, wording: Wording) -> None:
    declared = f"required: {{x: {{type: {kind}, enum: {enum}}}}}"
    assert found(plan_with(declared, x=good), "bad-input") == []
    (finding,) = found(plan_with(declared, x=bad), "bad-input")
    wording(finding.message)
    assert (finding.message.count("green") == 2) == (bad == "gren")


def test_a_default_is_used_and_an_optional_input_without_one_is_none() -> None:
    plan = plan_with("optional: {a: {default: 3}, b: string, c: {type: array, default: [1]}}")
    assert plan.inputs == {"a": 3, "b": None, "c": [1]}
    assert plan_with("optional: {a: {default: 3}}", a="4").inputs == {"a": 4}


def test_what_is_given_as_text_wins_over_files_and_those_over_the_workflow() -> None:
    declared = "values: {n: 1, m: 1, k: 1}"
    plan = plan_with(declared, values={"n": 2, "m": 2}, n="3")
    assert plan.inputs == {"n": 3, "m": 2, "k": 1}
    assert plan.findings == ()


@pytest.mark.parametrize(
    ("fixed", "text", "value"),
    [
        ("3", "4", 4),
        ("true", "no", False),
        ("2.5", "3", 3),
        ("a", "4", "4"),
        ("3", "many", "many"),
        ("null", "x", "x"),
    ],
)
def test_a_text_for_a_fixed_value_takes_its_type(fixed: str, text: str, value: object) -> None:
    plan = plan_with(f"values: {{x: {fixed}}}", x=text)
    assert plan.inputs["x"] == value
    assert type(plan.inputs["x"]) is type(value)


def test_a_missing_input_is_an_error_of_usage_with_its_place() -> None:
    plan = plan_with("required: {topic: string, n: {type: integer, default: 3}}")
    findings = found(plan, "missing-input")
    assert [finding.fix for finding in findings] == ["pass --var topic=VALUE", "pass --var n=VALUE"]
    assert "topic" not in plan.inputs
    with pytest.raises(UsageError) as raised:
        require_runnable(plan)
    assert raised.value.exit_code == 2
    assert plan_with("required: {topic: string}", topic="bees").inputs == {"topic": "bees"}


def test_nothing_is_not_a_value_for_a_required_input() -> None:
    plan = plan_with("required: {topic: string}", values={"topic": None})
    assert len(found(plan, "missing-input")) == 1
    assert plan.inputs == {}


def test_a_value_for_an_input_that_no_one_declared_or_reads_is_an_error(wording: Wording) -> None:
    plan = plan_with("required: {topic: string}", topic="x", topik="bees")
    (finding,) = found(plan, "unknown-input")
    assert finding.severity == "error"
    assert "'topic'" in str(finding.fix)
    assert plan.inputs["topik"] == "bees"
    (finding,) = found(plan_with("required: {topic: string}", topic="x", color="red"), "unknown-input")
    wording(finding.fix)


def test_every_problem_is_found_at_once() -> None:
    plan = plan_with("required: {a: integer, b: string, c: boolean}", a="x", c="y", d="z")
    codes = sorted(finding.code for finding in plan.findings)
    assert codes == ["bad-input", "bad-input", "missing-input", "unknown-input"]


def undefined(plan: Plan) -> list[Finding]:
    return found(plan, "undefined-variable")


def test_a_template_variable_that_nothing_defines_is_an_error_before_the_run(wording: Wording) -> None:
    steps = (
        "- {agent: writer, input: 'on {{ topic }} for {{ reader }}'}\n- {agent: writer, input: 'more on {{ topic }}'}"
    )
    rest = "inputs: {values: {topik: x}}\noutputs: {artifacts: [{path: '{{ place }}', from: '{{ last_response }}'}]}"
    plan = chain_of(steps, rest=rest)
    names = [re.findall("'(.*?)'", finding.message) for finding in undefined(plan)]
    assert names == [["reader"], ["topic"], ["place"]]
    wording(undefined(plan)[1].fix)
    where = undefined(plan)[0].where
    assert where is not None
    assert where.pointer == "/pattern/config/steps/0/input"
    with pytest.raises(UsageError):
        require_runnable(plan)
    given = RunRequest(variables={"topic": "a", "reader": "b", "place": "c"})
    assert undefined(chain_of(steps, rest=rest, options=given)) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{ x | default('y') }}",
        "{% if x is defined %}{{ x }}{% endif %}",
        "{% for x in [1] %}{{ x }}{% endfor %}",
    ],
)
def test_a_variable_that_a_template_guards_or_sets_may_be_missing(text: str) -> None:
    assert undefined(chain_of(f'- {{agent: writer, input: "{text}"}}')) == []


def test_a_steps_own_vars_and_an_agents_prompt_are_looked_at_too() -> None:
    plan = chain_of(
        "- {agent: writer, vars: {a: '{{ b }}'}, input: '{{ a }}'}",
        agents="{writer: {prompt: 'You write for {{ reader }}.'}}",
    )
    assert sorted(finding.message.split("'")[1] for finding in undefined(plan)) == ["b", "reader"]
