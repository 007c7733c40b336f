"""What a workflow says to people is shown by `plan` and by who asks for its inputs, and reaches no model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strands_cli.cli.program import run_program
from tests.covers.kit import World, covers, covers_each
from tests.yaml_texts import read_yaml, write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs


def planned(world: World, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, Any]]:
    """Return the plan as text and as JSON."""
    file = world.folder / "covered.yaml"
    file.write_text(write_yaml(world.document(text), sort_keys=False), encoding="utf-8")
    run_program(["plan", str(file)])
    shown = capsys.readouterr().out
    run_program(["plan", str(file), "--format", "json"])
    return shown, json.loads(capsys.readouterr().out)


SAID = {
    "/description": ("description: All about bees.", "about     All about bees."),
    "/tags": ("tags: [insects, honey]", "tags      insects, honey"),
    "/metadata/name": ("metadata: {name: The Bees}", "title     The Bees"),
    "/metadata/description": ("metadata: {description: More on bees.}", "about     More on bees."),
    "/metadata/labels": ("metadata: {labels: {team: garden}}", "label     team = garden"),
}


@covers_each({pointer: pointer for pointer in SAID})
def test_a_plan_says_what_the_workflow_is_for(world: World, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    written, shown = SAID[case]
    text, document = planned(world, written, capsys)
    assert shown in text.splitlines()
    assert shown.split(maxsplit=1)[1].split(" = ")[-1].split(", ")[0] in json.dumps(document["about"])


INPUT = "pattern: {type: chain, config: {steps: [{agent: a, input: '{{ topic }}'}]}}"


@covers_each({kind: f"/inputs/{kind}/*/description" for kind in ("required", "optional")})
def test_a_plan_says_what_an_input_is(world: World, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = "{topic: {type: string, description: What it is about}}"
    text, document = planned(world, f"inputs: {{{case}: {told}, values: {{topic: bees}}}}\n{INPUT}", capsys)
    assert "topic = bees  (What it is about)" in text
    assert document["about"]["inputs"] == {"topic": "What it is about"}


@covers("/inputs/required/*/default")
def test_a_default_that_is_never_used_is_a_finding(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    told = "{topic: {type: string, default: bees}}"
    _, document = planned(world, f"inputs: {{required: {told}, values: {{topic: wasps}}}}\n{INPUT}", capsys)
    assert [finding["code"] for finding in document["findings"]] == ["no-effect"]


@covers("/pattern/config/tasks/*/description")
def test_a_plan_says_what_a_task_is_for(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    task = "{id: x, agent: a, input: go, description: Find out.}"
    text, document = planned(world, f"pattern: {{type: workflow, config: {{tasks: [{task}]}}}}", capsys)
    assert "            (Find out.)" in text
    assert [step["about"] for step in document["steps"]] == ["Find out."]


def test_nothing_of_it_reaches_a_model(world: World) -> None:
    told = read_yaml("\n".join(written for written, _ in SAID.values() if "metadata" not in written))
    metadata = {"name": "The Bees", "description": "More on bees.", "labels": {"team": "garden"}}
    world.run(write_yaml({**told, "metadata": metadata}))
    assert not [word for word in ("Bees", "bees", "honey", "garden") if word in json.dumps(world.requests)]
