"""What an agent remembers: the steps that its pattern names, in that order, without what a summary has replaced."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli import app
from strands_cli.engine.step_inputs import Conversations
from strands_cli.errors import RunRecordError
from strands_cli.workflow.steps import AgentStep
from tests.wordings import Wording

A, B = AgentStep(agent="a"), AgentStep(agent="b")


def conversations(version: int = 0) -> Conversations:
    text = f"""
version: {version}
name: t
runtime: {{provider: ollama, model_id: m}}
agents: {{a: {{prompt: A, memory: run}}, b: {{prompt: B, memory: step}}}}
pattern: {{type: chain, config: {{steps: [{{agent: a}}, {{agent: b}}]}}}}
"""
    return Conversations(app.plan("flow.yaml", text=text))


def row(*messages: str, agent: str = "a", **fields: Any) -> dict[str, Any]:
    return {"response": "r", "agent": agent, "messages": list(messages), **fields}


def test_the_order_is_that_of_the_pattern_and_not_that_of_time() -> None:
    said = conversations()
    said.add(A, "branches.y.steps.0", row("y"), ())
    said.add(A, "branches.x.steps.0", row("x"), ())
    assert said.history(A, ["branches.x.steps.0", "branches.y.steps.0", "branches.z.steps.0"]) == ("x", "y")
    assert said.history(A, ["branches.y.steps.0"]) == ("y",)


def test_a_step_without_a_named_past_remembers_the_steps_of_one_order() -> None:
    said = conversations()
    said.add(A, "orchestrator", row("plan"), None)
    said.add(A, "workers.0", row("work"), ())
    said.add(A, "reduce", row("join"), None)
    assert said.history(A, None) == ("plan", "join")


def test_a_summary_takes_the_place_of_what_its_step_remembered_and_of_nothing_beside_it() -> None:
    said = conversations()
    said.add(A, "first", row("1"), ())
    said.add(A, "left", row("sum of 1", "2", restated=True), ["first"])
    said.add(A, "right", row("3"), ["first"])
    assert said.history(A, ["first", "left", "right"]) == ("sum of 1", "2", "3")
    assert said.history(A, ["first", "right"]) == ("1", "3")


def test_the_state_is_that_of_the_last_step() -> None:
    said = conversations()
    said.add(A, "steps.0", row("1", state={"n": 1, "old": True}), None)
    said.add(A, "steps.1", row("2", state={"n": 2}), None)
    assert said.state(A, None) == {"n": 2}


def test_an_agent_with_memory_of_one_step_remembers_nothing() -> None:
    said = conversations()
    said.add(B, "steps.0", row("1", agent="b"), None)
    assert said.history(B, None) == ()


def test_a_step_that_was_done_without_a_conversation_cannot_be_continued(wording: Wording) -> None:
    said = conversations()
    said.add(A, "steps.0", {"response": "r", "agent": "a"}, None)
    with pytest.raises(RunRecordError) as caught:
        said.history(A, None)
    wording([caught.value.message, caught.value.fix])
