"""A workflow whose steps only call tools needs neither agents nor a model."""

from __future__ import annotations

import json

import pytest

from strands_cli import Workflow
from strands_cli.workflow.builder import call, chain, dag, gate, task
from strands_cli.workflow.format_schema import workflow_schema
from tests.cli.strands import Folder

SUM = '{tool: calculator, input: {expression: "6 * 7"}}'
STEPS = f'[{SUM}, {{tool: calculator, input: {{expression: "{{{{ last_response }}}} + 1"}}}}]'
PATTERN = f"pattern: {{type: chain, config: {{steps: {STEPS}}}}}\n"
HEAD = "version: 2\nname: sums\n"


@pytest.mark.parametrize("agents", ["", "agents: {}\n", "runtime: {max_parallel: 2}\n"])
def test_every_command_takes_it(folder: Folder, agents: str) -> None:
    (folder.work / "sums.yaml").write_text(HEAD + agents + PATTERN)
    for command in (["validate"], ["plan"], ["lock"], ["lock", "--check"], ["run", "--locked"]):
        ran = folder.strands(command[0], "sums.yaml", *command[1:])
        assert (ran.code, "error" in ran.err) == (0, False), ran
    assert ran.out.strip() == "43"
    explained = folder.strands("explain", "sums.yaml")
    assert "Tool calculator" in explained.out
    assert "model call that fails" not in explained.out
    document = folder.strands("plan", "sums.yaml", "--format", "json").document
    assert (document["agents"], len(document["steps"])) == ([], 2)


def test_it_waits_and_resumes(folder: Folder) -> None:
    steps = STEPS[:-1] + ', {type: hitl, prompt: "Right?"}]'
    (folder.work / "sums.yaml").write_text(HEAD + PATTERN.replace(STEPS, steps))
    assert folder.strands("run", "sums.yaml", "--detach").code == 19
    assert folder.strands("approve", "last").code == 0


def test_a_step_of_an_agent_still_needs_one(folder: Folder) -> None:
    (folder.work / "none.yaml").write_text(HEAD + PATTERN.replace(STEPS, "[{agent: a, input: hi}, {agent: b}]"))
    ran = folder.strands("validate", "none.yaml")
    assert (ran.code, ran.err.count("error[")) == (3, 1)
    assert "error[missing-key]: the document has no `agents`" in ran.err


@pytest.mark.parametrize(("runtime", "key"), [("", "runtime"), ("runtime: {max_parallel: 2}\n", "provider")])
def test_an_agent_still_needs_a_provider(folder: Folder, runtime: str, key: str) -> None:
    import jsonschema

    pattern = PATTERN.replace(STEPS, "[{agent: a, input: hi}]")
    (folder.work / "none.yaml").write_text(f"{HEAD}{runtime}agents: {{a: {{prompt: hi}}}}\n{pattern}")
    ran = folder.strands("validate", "none.yaml", "--format", "json")
    assert ran.code == 3
    [found] = json.loads(ran.out)["findings"]
    assert (found["code"], f"`{key}`" in found["message"]) == ("missing-key", True)
    value = {
        "version": 2,
        "name": "n",
        "agents": {"a": {"prompt": "p"}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "a"}]}},
    }
    schema = jsonschema.Draft202012Validator(workflow_schema())
    # Another person may have a default model.
    assert schema.is_valid({**value, **({"runtime": {"max_parallel": 2}} if runtime else {})})
    assert schema.is_valid({**value, "runtime": {"provider": "openai"}})


def test_the_builder_takes_it() -> None:
    sums = Workflow.build("sums", pattern=chain(call("calculator", {"expression": "6 * 7"})))
    assert sums.run().response == "42"
    assert not Workflow.build(
        "w", pattern=dag(task("a", gate("Go?")), task("b", call("calculator"), deps=["a"]))
    ).validate()
