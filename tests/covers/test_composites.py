"""What the fields of a composite tool do to what its tools are called with, and to what comes of the call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.covers.kit import Ran, World, covers
from tests.fakes.model_server import Turn

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

CALC = "native:calculator"


def call(world: World, composite: str, given: dict[str, Any]) -> Ran:
    """Let the model of one agent call a composite; what it is given is in the last request."""
    world.turns = [Turn(calls=[("sum", given)]), "done"]
    return world.run(f"{{tools: {{composite: [{composite}]}}}}")


def expression(text: str) -> str:
    return f"{{tool: {CALC}, input: {{expression: '{text}'}}}}"


@covers("/tools/composite/*/id", "/tools/composite/*/steps/*/tool", "/tools/composite/*/steps/*/input")
def test_a_composite_is_offered_by_its_id_and_calls_its_tools(world: World) -> None:
    ran = call(world, f"{{id: sum, description: d, steps: [{expression('2 + 3')}]}}", {})
    assert ran.response == "done"
    assert world.tools(0) == ["sum"]
    assert "5" in world.last_message()


@covers("/tools/composite/*/description", "/tools/composite/*/input_schema")
def test_a_model_is_shown_what_a_composite_does_and_takes(world: World) -> None:
    schema = "{type: object, properties: {a: {type: integer}}, required: [a], additionalProperties: false}"
    made = f"{{id: sum, description: Adds one., input_schema: {schema}, steps: [{expression('1 + {{ a }}')}]}}"
    assert call(world, made, {"a": 41}).response == "done"
    (offered,) = world.requests[0]["tools"]
    assert offered["function"]["description"] == "Adds one."
    assert offered["function"]["parameters"]["properties"]["a"]["type"] == "integer"
    assert "42" in world.last_message()


@covers("/tools/composite/*/steps/*/save_as", "/tools/composite/*/output")
def test_results_are_saved_by_name_and_the_answer_is_made_of_them(world: World) -> None:
    first = expression("2 + 3").replace("}}", "}, save_as: five}", 1)
    output = "\"{{ {'five': five.value, 'next': steps[1].output.value} }}\""
    made = f"{{id: sum, description: d, steps: [{first}, {expression('{{ five.value }} + 1')}], output: {output}}}"
    assert call(world, made, {}).response == "done"
    assert json.loads(world.last_message()) == {"five": 5, "next": 6}
