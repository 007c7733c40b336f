"""The contract of an agent in a file of its own holds wherever a workflow uses it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.covers.kit import World
from tests.fakes.model_server import Turn
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

SCHEMA = {"type": "object", "properties": {"mood": {"enum": ["good", "bad"]}}, "required": ["mood"]}
ROUTED = {"router": {"agent": "j", "input": "go"}, "routes": {"r": {"then": [{"agent": "b", "input": "no"}]}}}
ORCHESTRATED = {"orchestrator": {"agent": "j", "input": "go", "limits": {"max_rounds": 1}}}
PATTERNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "chain": ({"steps": [{"agent": "b", "input": "no"}]}, []),
    "workflow": ({"tasks": [{"id": "x", "agent": "b", "input": "no"}]}, []),
    "parallel": ({"branches": [{"id": name, "steps": [{"agent": "b", "input": "no"}]} for name in "xy"]}, []),
    "graph": ({"nodes": {"x": {"agent": "b", "input": "no"}}}, []),
    "routing": (ROUTED, ['{"route": "r"}']),
    "evaluator_optimizer": (
        {
            "producer": "b",
            "producer_input": "no",
            "evaluator": {"agent": "j", "input": "Judge."},
            "accept": {"min_score": 1},
        },
        [],
    ),
    "orchestrator_workers": ({**ORCHESTRATED, "worker_template": {"agent": "b"}}, ['[{"task": "no"}]']),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_contract_of_a_file_holds_in_every_pattern(pattern: str, world: World) -> None:
    config, turns = PATTERNS[pattern]
    for takes, gives, said in ((30, "good", "input_schema"), (1, "blue", "invalid_output")):
        file = {"prompt": "You say.", "input_schema": {"type": "string", "minLength": takes}, "output_schema": SCHEMA}
        (world.folder / "mood.yaml").write_text(write_yaml({**file, "name": "mood", "tests": []}), "utf-8")
        world.turns = [Turn(text) for text in turns] + [Turn(f'{{"mood": "{gives}"}}')] * 9
        agents = {"b": {"$ref": "mood.yaml"}, "j": {"prompt": "You judge."}}
        ran = world.run(write_yaml({"agents": agents, "pattern": {"type": pattern, "config": config}}))
        assert ran.error is not None
        assert said in f"{ran.error.message}"
