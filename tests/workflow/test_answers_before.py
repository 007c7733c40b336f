"""`hitl_response` is known where a gate may be answered before, and an error at once where none can be."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.app import load
from tests.yaml_texts import write_yaml

READS = "{{ hitl_response }}"
GUARDED = f"{{% if hitl_response is defined %}}{READS}{{% endif %}}"


def _errors(pattern: dict[str, Any], prompt: str = "p") -> list[str]:
    flow = {
        "version": 2,
        "name": "flow",
        "runtime": {"provider": "replay"},
        "agents": {"a": {"prompt": prompt, "tools": [], "memory": "step"}},
        "pattern": pattern,
    }
    loaded = load("<text>", write_yaml(flow, sort_keys=False))
    return [f"{one.code} {one.where.pointer}" for one in loaded.findings if one.severity == "error" and one.where]


def _graph(nodes: dict[str, str | None], edges: str, condition: str = "") -> dict[str, Any]:
    """Return a graph with nodes of an agent, by their inputs, and gates, which have none; `a>b` is an edge."""
    gate = {"type": "hitl", "prompt": "?"}
    made = {name: gate if text is None else {"agent": "a", "input": text} for name, text in nodes.items()}
    pairs = [edge.split(">") for edge in edges.split()]
    joined: list[dict[str, Any]] = [{"from": one, "to": [two]} for one, two in pairs]
    if condition:
        del joined[-1]["to"]
        joined[-1]["choose"] = [{"when": condition, "to": pairs[-1][1]}]
    return {"type": "graph", "config": {"nodes": made, "edges": joined}}


@pytest.mark.parametrize(
    ("nodes", "edges", "is_known"),
    [
        ({"x": "go", "gate": None, "y": READS}, "x>gate gate>y", True),
        ({"x": READS, "gate": None}, "x>gate", False),
        ({"x": "go", "y": READS, "gate": None}, "x>y x>gate", False),
        ({"x": "go", "z": "go", "y": READS, "gate": None}, "x>z z>y x>gate", True),
        ({"x": "go", "y": READS, "z": "go", "gate": None}, "x>y x>z z>gate", False),
        ({"x": "go", "y": GUARDED, "gate": None}, "x>y y>gate", True),
        ({"x": "go", "y": "go", "z": READS, "gate": None}, "x>y y>x y>z x>gate", True),
        ({"x": "go", "y": READS}, "x>y", False),
    ],
)
def test_a_node_knows_an_answer_only_where_a_gate_may_be_before_it(
    nodes: dict[str, str | None], edges: str, is_known: bool
) -> None:
    reader = next(name for name, text in nodes.items() if text and READS in text)
    wanted = [] if is_known else [f"unknown-name /pattern/config/nodes/{reader}/input"]
    assert _errors(_graph(nodes, edges)) == wanted


def test_a_condition_knows_the_answer_of_the_gate_that_it_follows() -> None:
    nodes = {"x": "go", "gate": None, "y": "go"}
    assert _errors(_graph(nodes, "x>gate gate>y", "hitl_response == 'yes'")) == []
    nodes = {"x": "go", "y": "go", "gate": None}
    pointer = "/pattern/config/edges/1/choose/0/when"
    assert _errors(_graph(nodes, "y>gate x>y", "hitl_response == 'yes'")) == [f"unknown-name {pointer}"]


@pytest.mark.parametrize("deps", [[], ["other"], ["gate"], ["later"]])
def test_a_task_knows_only_the_answers_that_it_waits_for(deps: list[str]) -> None:
    tasks = [
        {"id": "other", "agent": "a", "input": "go"},
        {"id": "gate", "type": "hitl", "prompt": "?"},
        {"id": "later", "agent": "a", "input": "go", "deps": ["gate"]},
        {"id": "reader", "agent": "a", "input": READS, "deps": deps},
    ]
    wanted = [] if deps in (["gate"], ["later"]) else ["unknown-name /pattern/config/tasks/3/input"]
    assert _errors({"type": "workflow", "config": {"tasks": tasks}}) == wanted
