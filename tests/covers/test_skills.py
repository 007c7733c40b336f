"""What the fields of `skills`, of the retrieval tools, and of secrets that a cloud keeps do."""

from __future__ import annotations

import json

import pytest

from tests.agents.test_remote_secrets import VALUE, Cloud
from tests.agents.test_remote_secrets import cloud as cloud
from tests.covers.kit import World, covers, covers_each
from tests.covers.test_services import Service, with_secret
from tests.covers.test_services import service as service
from tests.fakes.model_server import Turn

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs


def skill(world: World, fields: str, text: str = "# Tidy\nSweep first.") -> None:
    """Run an agent that loads the skill `tidy`, and reads a file of it."""
    folder = world.folder / "kept"
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    world.turns = [Turn(calls=[("Skill", {"skill_id": "tidy"})]), "done"]
    world.run(f"skills: [{{{fields}}}]")


def offered_tool(world: World) -> str:
    (tool,) = world.requests[0]["tools"]
    return json.dumps(tool["function"])


@covers("/skills/*/id", "/skills/*/path")
def test_a_skill_is_loaded_by_its_id_from_its_folder(world: World) -> None:
    skill(world, "id: tidy, path: kept")
    assert world.tools(0) == ["Skill"]
    assert "Sweep first." in world.last_message(1)


@covers("/skills/*/description")
def test_agents_see_when_to_use_a_skill(world: World) -> None:
    skill(world, "id: tidy, path: kept, description: For untidy texts.")
    assert "For untidy texts." in offered_tool(world)


@covers("/skills/*/preload_metadata")
def test_agents_see_no_more_than_the_id(world: World) -> None:
    skill(world, "id: tidy, path: kept, preload_metadata: false", "---\ndescription: For untidy texts.\n---\nSweep.")
    assert "For untidy texts." not in offered_tool(world)
    assert "tidy" in offered_tool(world)


@covers("/agents/*/skills")
def test_skills_come_beside_a_list_of_tools_unless_the_agent_has_none(world: World) -> None:
    (world.folder / "kept").mkdir()
    (world.folder / "kept" / "SKILL.md").write_text("# Tidy")
    world.run(
        "skills: [{id: tidy, path: kept, description: d}]\n"
        "agents: {a: {prompt: p, tools: [current_time]}, b: {prompt: p, tools: [current_time], skills: []}}\n"
        "pattern: {type: chain, config: {steps: [{agent: a, input: x}, {agent: b, input: x}]}}"
    )
    assert [world.tools(number) for number in (0, 1)] == [["current_time", "Skill"], ["current_time"]]
    assert "Skills" not in json.dumps(world.requests[0]["messages"]), "version 2 has the list in the tool only"


@covers("/context_policy/retrieval/jit_tools")
def test_every_agent_has_the_tools_for_retrieval(world: World) -> None:
    steps = "[{agent: a, input: x}, {agent: b, input: x}]"
    world.run(
        "tools: {python: [current_time]}\n"
        "agents: {a: {prompt: p}, b: {prompt: p, tools: [current_time]}, c: {prompt: p, tools: []}}\n"
        "context_policy: {retrieval: {jit_tools: [calculator]}}\n"
        f"pattern: {{type: chain, config: {{steps: {steps}}}}}"
    )
    assert [world.tools(number) for number in (0, 1)] == [["current_time", "calculator"]] * 2


@covers_each({"secrets_manager": "/env/secrets/*/source", "ssm": "/env/secrets/*/source"})
def test_a_secret_comes_from_a_cloud(world: World, case: str, service: Service, cloud: Cloud) -> None:
    path = {"secrets_manager": "prod/key", "ssm": "/prod/token"}[case]
    with_secret(world, service, {"key": "HIVE_KEY", "source": case, "path": path}, "HIVE_KEY")
    assert service.received[0][1]["x-key"] == (VALUE if case == "secrets_manager" else "from-a-parameter")


@pytest.mark.parametrize("name", ["nothing", "mcp:none/x", "native:"])
def test_a_tool_for_retrieval_that_is_not_there_is_found(world: World, name: str) -> None:
    ran = world.run(f"context_policy: {{retrieval: {{jit_tools: ['{name}']}}}}")
    assert ran.error is not None
    (finding,) = ran.error.findings
    assert finding.where is not None
    assert finding.where.pointer == "/context_policy/retrieval/jit_tools/0"
