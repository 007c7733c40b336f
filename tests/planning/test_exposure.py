"""What leaves along the steps of a workflow is a warning, and the decision that is shown is the one that is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog import Catalog, discover_catalog
from strands_cli.planning.plan.plan_values import Plan
from tests.distributions import sound
from tests.fakes.plans import chain_of, found

READS = {"annotations": {"readOnlyHint": True, "openWorldHint": False}}
METHOD = {"type": "string", "enum": ["GET", "POST"], "default": "GET"}
SCHEMA = {"type": "object", "properties": {"method": METHOD, "text": {"type": "string"}}}


def able(network: list[str], *modes: str, **more: Any) -> dict[str, Any]:
    capabilities = {"network": network, "filesystem": [{"path": ".", "mode": mode} for mode in modes]}
    return {"capabilities": capabilities, **more}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    reading = {"properties": {"method": {"enum": ["GET"]}}}
    destructive = {"readOnlyHint": False, "destructiveHint": True}
    claims = able(["*"], read_only_when=reading)
    sound(tmp_path, "send", strands_cli=claims, annotations=destructive, input_schema=SCHEMA)
    sound(tmp_path, "fetch", strands_cli=able(["*"]), annotations={"readOnlyHint": True})
    sound(tmp_path, "read", strands_cli=able([], "read"), **READS)
    sound(tmp_path, "sums", strands_cli=able([]), **READS)
    return discover_catalog([str(tmp_path)])


READ = "- {tool: native:read, input: {}}"
AGENTS = "{writer: {prompt: w, tools: []}, web: {prompt: w, tools: [native:fetch]}}"


def plan(catalog: Catalog, *steps: str, rest: str = "", **more: Any) -> Plan:
    return chain_of("\n".join(steps), rest=rest, agents=AGENTS, catalog=catalog, **more)


def sends(made: Plan) -> list[str | None]:
    """Return the places of the steps that send what was read."""
    warnings = found(made, "private-data-sent")
    assert all(one.severity == "warning" for one in warnings)
    return [one.where.pointer if one.where else None for one in warnings]


def test_what_one_step_reads_and_another_sends_without_a_question_is_a_warning(catalog: Catalog) -> None:
    made = plan(catalog, READ, "- {tool: native:send, input: {text: '{{ steps[0].response }}'}}")
    assert sends(made) == ["/pattern/config/steps/1"]
    [warning] = found(made, "private-data-sent")
    assert "read in steps.0" in warning.message
    assert "send" in str(warning.fix)


def test_it_is_followed_through_an_agent(catalog: Catalog) -> None:
    through = "- {agent: writer, input: 'Shorten {{ last_response }}'}"
    made = plan(catalog, READ, through, "- {tool: native:send, input: {text: '{{ last_response }}'}}")
    assert sends(made) == ["/pattern/config/steps/2"]


@pytest.mark.parametrize(
    "steps",
    [
        (READ, "- {tool: native:send, input: {method: POST, text: '{{ steps[0].response }}'}}"),  # it asks
        (READ, "- {tool: native:send, input: {text: always}}"),  # nothing is passed on
        (READ, "- {tool: native:sums, input: {text: '{{ steps[0].response }}'}}"),  # it reaches nothing
        ("- {tool: native:sums, input: {}}", "- {tool: native:send, input: {text: '{{ steps[0].response }}'}}"),
        ("- {tool: native:send, input: {text: 'x'}}", "- {tool: native:read, input: {text: '{{ last_response }}'}}"),
    ],
)
def test_what_asks_or_does_not_leave_has_no_warning(catalog: Catalog, steps: tuple[str, ...]) -> None:
    assert sends(plan(catalog, *steps)) == []


def test_a_rule_that_asks_ends_the_warning(catalog: Catalog) -> None:
    step = "- {tool: native:send, input: {text: '{{ steps[0].response }}'}}"
    asking = "security: {permissions: {ask: [native:send]}}"
    assert sends(plan(catalog, READ, step, rest=asking)) == []


def test_a_tool_made_of_a_reader_and_a_sender_is_a_warning(catalog: Catalog) -> None:
    rest = """
    tools:
      composite:
        - id: both
          description: d
          steps:
            - {tool: native:read, input: {}, save_as: it}
            - {tool: native:send, input: {text: "{{ it }}"}}
    """
    assert sends(plan(catalog, "- {tool: both, input: {}}", rest=rest)) == ["/pattern/config/steps/0"]


def test_an_agent_that_reads_the_web_after_private_data_is_passed_on_is_a_risk(catalog: Catalog) -> None:
    def risks(text: str) -> list[str]:
        made = plan(catalog, READ, f"- {{agent: web, input: '{text}'}}")
        return [one.where.pointer for one in found(made, "risky-combination") if one.where]

    assert risks("Check {{ steps[0].response }}") == ["/pattern/config/steps/1"]
    assert risks("Look around.") == []


@pytest.mark.parametrize(
    ("arguments", "effect"),
    [
        ("{method: GET, text: '{{ last_response }}'}", "allow"),
        ("{text: '{{ last_response }}'}", "allow"),
        ("{method: POST}", "ask"),
        ("{method: '{{ how }}'}", "ask"),
        ("{method: '{{ last_response }}'}", None),
    ],
)
def test_the_decision_of_a_step_is_that_of_its_known_arguments(
    catalog: Catalog, arguments: str, effect: str | None
) -> None:
    rest = "inputs: {values: {how: POST}}"
    made = plan(catalog, READ, f"- {{tool: native:send, input: {arguments}}}", rest=rest)
    decision = made.steps[1].decision
    assert (decision.effect if decision else None) == effect


def test_a_conditional_decision_is_shown_as_such(catalog: Catalog) -> None:
    step = "- {tool: native:send, input: {}}"
    tool = plan(catalog, step).call_tools["native:send"]
    assert tool.decision_words().startswith("allow for method GET, else ask: ")
    asked = plan(catalog, step, rest="security: {permissions: {ask: [native:send]}}").call_tools["native:send"]
    assert asked.decision_words().startswith("ask: ")
