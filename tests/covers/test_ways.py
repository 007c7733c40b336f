"""What the fields do that choose between two ways: of memory, of texts and names, of folders and paths."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.covers.kit import World, covers, covers_each, text_of
from tests.fakes import mcp_program
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

AGENTS: dict[str, Any] = {name: {"prompt": f"You are {name}.", "tools": []} for name in ("a", "b")}


def flow(kind: str, config: dict[str, Any], **more: Any) -> str:
    return write_yaml({"agents": AGENTS, "pattern": {"type": kind, "config": config}, **more})


def steps(*inputs: str) -> dict[str, Any]:
    return {"steps": [{"agent": "a", "input": text} for text in inputs]}


def asked(world: World, number: int = -1) -> list[str]:
    return [text_of(one) for one in world.requests[number]["messages"] if one["role"] == "user"]


@covers("/context_policy/memory")
def test_agents_that_name_no_memory_have_that_of_the_workflow(world: World) -> None:
    world.run(flow("chain", steps("one", "two"), context_policy={"memory": "run"}))
    assert asked(world) == ["one", "two"]


@pytest.mark.parametrize("own", ["step", "run"])
def test_an_agent_that_names_its_memory_keeps_it(world: World, own: str) -> None:
    agents = {"a": {"prompt": "p", "memory": own}}
    world.run(flow("chain", steps("one", "two"), context_policy={"memory": "path"}, agents=agents))
    assert asked(world) == (["two"] if own == "step" else ["one", "two"])


def test_with_memory_on_the_path_steps_at_the_same_time_are_apart(world: World) -> None:
    branches = [
        {"id": name, "steps": [{"agent": "a", "input": f"{name}1"}, {"agent": "a", "input": f"{name}2"}]}
        for name in ("x", "y")
    ]
    world.run(
        flow(
            "parallel",
            {"branches": branches, "reduce": {"agent": "a", "input": "end"}},
            context_policy={"memory": "path"},
        )
    )
    assert sorted(map(tuple, (asked(world, n) for n in range(5)))) == [
        ("x1",),
        ("x1", "x2"),
        ("x1", "x2", "y1", "y2", "end"),
        ("y1",),
        ("y1", "y2"),
    ]


def test_with_memory_on_the_path_a_route_knows_nothing_of_its_choice(world: World) -> None:
    config = {"router": {"agent": "a", "input": "Which?"}, "routes": {"r": {"then": [{"agent": "a", "input": "go"}]}}}
    for memory, expected in (("run", ["Which?", "go"]), ("path", ["go"])):
        world.turns = ['{"route": "r"}']
        world.run(flow("routing", config, context_policy={"memory": memory}))
        assert asked(world) == expected


@covers("/context_policy/prompt_end")
def test_each_system_prompt_ends_with_a_text(world: World) -> None:
    world.run(
        flow(
            "chain",
            steps("one"),
            context_policy={"prompt_end": "You are {{ agent }} and write on {{ topic }}."},
            inputs={"values": {"topic": "bees"}},
        )
    )
    assert world.system() == "You are a.\n\nYou are a and write on bees."


@covers("/context_policy/skills_in_prompts")
def test_system_prompts_list_the_skills(world: World) -> None:
    (world.folder / "skill").mkdir()
    (world.folder / "skill" / "SKILL.md").write_text("Use columns.", encoding="utf-8")
    skills = [{"id": "sheets", "path": "skill", "description": "Spreadsheets"}]
    world.run(flow("chain", steps("one"), context_policy={"skills_in_prompts": True}, skills=skills))
    assert "- sheets: Spreadsheets" in world.system()


@covers("/context_policy/retrieval/replaces_tools")
def test_an_agent_without_a_list_has_the_tools_for_retrieval_alone(world: World) -> None:
    world.run(
        flow(
            "chain",
            steps("one"),
            agents={"a": {"prompt": "p"}},
            tools={"python": ["calculator"]},
            context_policy={"retrieval": {"jit_tools": ["current_time"], "replaces_tools": True}},
        )
    )
    assert world.tools() == ["current_time"]


@covers("/inputs/keep_texts")
def test_a_text_that_is_given_for_a_number_prints_as_it_is_and_counts(world: World) -> None:
    inputs = {"required": {"n": "integer", "yes": "boolean"}, "keep_texts": True}
    text = "{{ n }} {{ n + 1 }} {{ n == '5' }} {{ yes }}"
    world.run(flow("chain", steps(text), inputs=inputs), {"n": "5", "yes": "true"})
    assert asked(world) == ["5 6 True true"]


@covers("/inputs/absent")
def test_an_optional_input_without_a_value_is_not_defined(world: World) -> None:
    inputs = {"optional": {"tone": "string"}, "absent": "undefined"}
    world.run(flow("chain", steps("{{ tone is defined }} {{ tone | default('dry') }}"), inputs=inputs))
    assert asked(world) == ["False dry"]


@covers("/inputs/allow_undeclared")
def test_a_value_that_nothing_declares_or_reads_is_accepted(world: World) -> None:
    assert world.run(flow("chain", steps("one"), inputs={"allow_undeclared": True}), {"other": "x"}).error is None


@covers("/env/take_variables")
def test_a_tool_gets_the_variable_of_a_secret_that_is_not_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "hunter2-hunter2")
    tools = {"python": ["tavily_search"]}
    ran = world.run(
        flow("chain", steps("one"), agents={"a": {"prompt": "p"}}, tools=tools, env={"take_variables": True})
    )
    assert ran.error is None, ran.error.findings


@covers("/outputs/plain_paths")
def test_other_characters_in_paths_become_underscores(world: World) -> None:
    artifacts = [{"path": "a b (1).md", "from": "text"}]
    world.run(flow("chain", steps("one"), outputs={"artifacts": artifacts, "plain_paths": True}))
    assert [path.name for path in (world.folder / "out").iterdir()] == ["a_b_1_.md"]


@covers("/tools/mcp_folder")
def test_the_programs_of_servers_run_in_the_working_directory(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "docs.json").write_text('{"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}')
    world.folder = tmp_path / "flows"
    world.folder.mkdir()
    server = {"id": "docs", "command": sys.executable, "args": [str(mcp_program.__file__), "docs.json", "log"]}
    agents = {"a": {"prompt": "p"}}
    world.run(flow("chain", steps("one"), agents=agents, tools={"mcp": [server], "mcp_folder": "working"}), yes=True)
    assert (tmp_path / "log").exists()


@covers("/agents/*/input_schema_for")
def test_the_schema_of_an_input_can_be_that_of_the_run(world: World) -> None:
    schema = {"type": "object", "required": ["subject"], "properties": {"words": {"type": "integer", "default": 5}}}
    agents = {"a": {"prompt": "p", "input_schema": schema, "input_schema_for": "run"}}
    ran = world.run(flow("chain", steps("{{ subject }}, {{ words }}"), agents=agents), {"subject": "bees"})
    assert (ran.error, asked(world)) == (None, ["bees, 5"])


@covers("/rendering/completed")
def test_what_is_done_has_the_status_that_the_workflow_names(world: World) -> None:
    text = "{{ steps[0].status }} {{ steps[0].status == 'completed' }} {{ steps[0].status == 'success' }}"
    world.run(flow("chain", steps("one", text), rendering={"completed": "success"}))
    assert asked(world) == ["success True True"]


@covers("/rendering/control_characters")
def test_control_characters_are_left_out(world: World) -> None:
    world.run(
        flow("chain", steps("{{ text }}"), rendering={"control_characters": "remove"}), {"text": "a\x07b\tc\nd\x1b"}
    )
    assert asked(world) == ["ab\tc\nd"]


TWO = {
    "parallel": {"branches": [{"id": name, "steps": [{"agent": "a", "input": name}]} for name in ("x", "y")]},
    "orchestrator_workers": {"orchestrator": {"agent": "b"}, "worker_template": {"agent": "a"}},
}
JOINED = {
    "parallel": "{% for name, one in branches.items() %}{{ name }}: {{ one.status }}. {% endfor %}",
    "orchestrator_workers": "{% for one in workers %}{{ one.task }}: {{ one.status }}. {% endfor %}",
}


@covers_each(dict.fromkeys(TWO, "/pattern/config/last_response"))
def test_the_answer_of_branches_and_of_workers_is_what_a_template_makes_of_them(world: World, case: str) -> None:
    world.turns = ['[{"task": "x"}, {"task": "y"}]'] if case == "orchestrator_workers" else []
    ran = world.run(flow(case, {**TWO[case], "last_response": JOINED[case]}))
    assert ran.response == "x: completed. y: completed. "


def test_a_step_without_an_input_gets_what_the_template_makes(world: World) -> None:
    config = {**TWO["parallel"], "last_response": "{{ branches | length }} branches", "reduce": {"agent": "b"}}
    world.run(flow("parallel", config))
    assert world.last_message() == "2 branches"


@covers("/pattern/config/all_nodes")
def test_a_graph_can_have_each_of_its_nodes_from_the_start(world: World) -> None:
    nodes = {
        "x": {"agent": "a", "input": "{{ nodes | length }} {{ nodes.y is defined }} {{ nodes.y.status }}"},
        "y": {"agent": "b", "input": "two"},
    }
    world.run(flow("graph", {"nodes": nodes, "edges": [{"from": "x", "to": "y"}], "all_nodes": True}))
    assert world.last_message(0) == "2 True not_executed"


def test_a_result_has_a_kind_and_an_estimate_that_its_text_does_not_show(world: World) -> None:
    text = (
        "{{ steps[0].type }} {{ steps[0].prompt }} {{ steps[1].type }} {{ steps[1].tokens_estimated }} {{ steps[0] }}"
    )
    config = {
        "steps": [{"type": "hitl", "prompt": "Sure?"}, {"agent": "a", "input": "x"}, {"agent": "a", "input": text}]
    }
    world.answers = ["yes"]
    world.turns = ["twelve chars"]
    world.run(flow("chain", config))
    assert world.last_message() == (
        "hitl Sure? agent 3 StepResult(response='yes', agent='person', index=0, output=None, status='completed')"
    )


def test_templates_call_functions_and_inputs_may_have_their_names(world: World) -> None:
    text = "{{ len(words) }} {{ str(1) ~ int('2') }} {{ max(1, 3) }} {{ max }}"
    inputs = {"required": {"words": "array", "max": "string"}}
    world.run(flow("chain", steps(text), inputs=inputs), {"words": ["a", "b"], "max": "M"})
    assert asked(world) == ["2 12 3 M"]
