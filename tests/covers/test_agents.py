"""What the fields of an agent, of `tools.python` and of `context_policy` do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.covers.kit import World, covers, covers_each
from tests.fakes.model_server import Turn

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

STEPS = "pattern: {type: chain, config: {steps: [{agent: a, input: one}, {agent: a, input: two}]}}"
CALCULATE = Turn(calls=[("calculator", {"expression": "2 + 2"})])


def agent(fields: str, rest: str = "") -> str:
    return f"agents: {{a: {{prompt: You help., {fields}}}}}\n{rest}"


@covers("/agents/*/prompt")
def test_the_prompt_is_the_system_prompt(world: World) -> None:
    world.run("agents: {a: {prompt: Speak of bees.}}")
    assert world.system() == "Speak of bees."


@covers("/agents/*/$ref")
def test_an_agent_is_read_from_its_file(world: World) -> None:
    (world.folder / "agent.yaml").write_text("prompt: Speak of wasps.", encoding="utf-8")
    world.run("agents: {a: {$ref: agent.yaml}}")
    assert world.system() == "Speak of wasps."


@covers("/agents/*/tools/*/tool")
def test_an_agent_gets_the_tools_of_its_list(world: World) -> None:
    world.run("tools: {python: [calculator, current_time]}\nagents: {a: {prompt: p, tools: [{tool: calculator}]}}")
    assert world.tools() == ["calculator"]


@covers("/tools/python/*/tool")
def test_an_agent_without_a_list_gets_the_tools_of_the_workflow(world: World) -> None:
    world.run("tools: {python: [{tool: calculator}]}")
    assert world.tools() == ["calculator"]


@covers_each({"agents": "/agents/*/tools/*/as", "tools": "/tools/python/*/as"})
def test_a_model_sees_a_tool_by_the_name_it_is_given(world: World, case: str) -> None:
    entry = "[{tool: calculator, as: sums}]"
    world.run(f"agents: {{a: {{prompt: p, tools: {entry}}}}}" if case == "agents" else f"tools: {{python: {entry}}}")
    assert world.tools() == ["sums"]


@covers_each({"agents": "/agents/*/tools/*/config", "tools": "/tools/python/*/config"})
def test_a_tool_is_called_with_its_config(world: World, case: str) -> None:
    world.turns = [Turn(calls=[("current_time", {})]), Turn("done")]
    entry = "[{tool: current_time, config: {default_timezone: Asia/Tokyo}}]"
    world.run(f"agents: {{a: {{prompt: p, tools: {entry}}}}}" if case == "agents" else f"tools: {{python: {entry}}}")
    assert "Asia/Tokyo" in json.dumps(world.requests[1]["messages"][-1])


@covers("/tools/python_path")
def test_custom_python_is_found_in_its_folder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRANDS_CUSTOM_TOOL_ALLOWLIST", "covered_tools:*")
    folder: Path = world.folder / "lib"
    folder.mkdir()
    (folder / "covered_tools.py").write_text(
        "from strands import tool\n@tool\ndef shout(text: str) -> str:\n    '''Shout.'''\n    return text.upper()\n",
        encoding="utf-8",
    )
    world.turns = [Turn(calls=[("shout", {"text": "bees"})]), Turn("done")]
    world.run("tools: {python: ['covered_tools:shout'], python_path: [lib]}", yes=True)
    assert "BEES" in json.dumps(world.requests[1]["messages"][-1])


@covers("/agents/*/provider")
def test_an_agent_has_a_provider_of_its_own(world: World) -> None:
    (world.folder / "said.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: recorded}]}", encoding="utf-8")
    ran = world.run("runtime: {recording: said.yaml}\n" + agent("provider: replay"))
    assert (ran.response, world.requests) == ("recorded", [])


@covers("/agents/*/model_id")
def test_an_agent_has_a_model_of_its_own(world: World) -> None:
    world.run(agent("model_id: large-1"))
    assert world.requests[0]["model"] == "large-1"


@covers_each({name: f"/agents/*/inference/{name}" for name in ("temperature", "top_p", "max_tokens")})
def test_an_agent_has_sampling_settings_of_its_own(world: World, case: str) -> None:
    world.run(
        "runtime: {temperature: 1, top_p: 1, max_tokens: 9}\n"
        + agent("inference: {temperature: 0.25, top_p: 0.5, max_tokens: 77}")
    )
    assert world.requests[0][case] == {"temperature": 0.25, "top_p": 0.5, "max_tokens": 77}[case]


@covers("/agents/*/memory")
def test_an_agent_remembers_its_steps(world: World) -> None:
    world.run(agent("memory: run", STEPS))
    assert [message["role"] for message in world.requests[1]["messages"]] == ["system", "user", "assistant", "user"]


@covers("/agents/*/input_schema")
def test_an_input_that_does_not_fit_is_not_sent(world: World) -> None:
    ran = world.run(agent("input_schema: {type: object, required: [n]}"))
    assert ran.error is not None
    assert world.requests == []


@covers("/agents/*/output_schema")
def test_an_answer_has_the_form_that_is_asked_for(world: World) -> None:
    world.turns = ['{"n": 4}']
    steps = (
        "pattern: {type: chain, config: {steps: [{agent: a, input: go}, {agent: a, input: '{{ steps[0].output.n }}'}]}}"
    )
    world.turns = ['{"n": 4}', '{"n": 5}']
    world.run(agent("output_schema: {type: object, required: [n]}", steps))
    assert world.last_message() == "4"


@covers("/agents/*/limits/turns", "/agents/*/limits/tool_calls")
def test_a_step_stops_at_its_limits(world: World) -> None:
    for limits in ("turns: 1", "tool_calls: 0"):
        world.turns = [CALCULATE, Turn("done")]
        ran = world.run(agent(f"tools: [calculator], limits: {{{limits}}}"))
        assert ran.error is not None
        assert ran.error.exit_code == 20


@covers_each({name: f"/agents/*/limits/{name}" for name in ("tokens", "cost_usd", "duration_s")})
def test_a_step_stops_when_it_has_spent_its_share(world: World, case: str) -> None:
    limit = {"tokens": 3, "cost_usd": 0.000001, "duration_s": 0.0001}[case]
    world.turns = [CALCULATE, CALCULATE, Turn("done")]
    ran = world.run(
        "runtime: {model_id: gpt-4.1-mini}\n" + agent(f"tools: [calculator], limits: {{{case}: {limit:f}}}")
    )
    assert ran.error is not None
    assert ran.error.exit_code == 20


BUDGETS = {
    "max_steps": 1,
    "max_model_calls": 1,
    "max_tokens": 5,
    "max_cost_usd": 0.000001,
    "max_duration_s": 0.0001,
    "max_tool_calls": 0,
}


@covers_each({name: f"/agents/*/budgets/{name}" for name in BUDGETS})
def test_an_agent_has_budgets_of_its_own(world: World, case: str) -> None:
    world.turns = [CALCULATE, Turn("done")]
    ran = world.run(
        "runtime: {model_id: gpt-4.1-mini}\n"
        + agent(f"tools: [calculator], budgets: {{{case}: {BUDGETS[case]:f}}}".replace(".000000}", "}"), STEPS)
    )
    assert ran.error is not None
    assert case in ran.error.message


LOOPS = {"/agents/*/loops/": ("", ", loops: {%s: 2}"), "/runtime/loops/": ("loops: {%s: 2}", "")}
KEYS = {f"{place}{key}": f"{place}{key}" for place in LOOPS for key in ("hint_after", "stop_after")}


@covers_each(KEYS)
def test_an_agent_that_repeats_itself_gets_a_hint_and_is_stopped(world: World, case: str) -> None:
    place, _, key = case.rpartition("/")
    runtime, own = (part % key if part else "" for part in LOOPS[f"{place}/"])
    world.turns = [CALCULATE, CALCULATE, CALCULATE, Turn("done")]
    ran = world.run(f"runtime: {{{runtime}}}\n" + agent(f"tools: [calculator]{own}"))
    if key == "stop_after":
        assert ran.error is not None
        assert ran.error.exit_code == 22
    else:
        assert "[strands: " in json.dumps(world.requests[2]["messages"][-1])


@covers_each({place: f"{place}/tools_shown" for place in ("/agents/*", "/runtime")})
def test_a_model_sees_the_names_of_tools_and_loads_their_definitions(world: World, case: str) -> None:
    world.turns = [Turn(calls=[("find_tool", {"names": ["calculator"]})]), Turn("done")]
    own, runtime = ("", "tools_shown: deferred") if case == "/runtime" else (", tools_shown: deferred", "")
    world.run(f"runtime: {{{runtime}}}\n" + agent(f"tools: [calculator, current_time]{own}"))
    assert [world.tools(number) for number in (0, 1)] == [["find_tool"], ["find_tool", "calculator"]]


FIVE = (
    "pattern: {type: chain, config: {steps: [" + ", ".join(f"{{agent: a, input: step {n}}}" for n in range(5)) + "]}}"
)


def remembered(world: World, policy: str) -> list[dict[str, Any]]:
    """Run five steps of an agent that remembers, and return what the server was asked."""
    world.run(agent("memory: run", f"context_policy: {policy}\n{FIVE}"))
    return world.requests


@covers("/context_policy/window/max_messages")
def test_only_the_latest_messages_are_sent(world: World) -> None:
    assert max(len(request["messages"]) for request in remembered(world, "{window: {max_messages: 3}}")) == 4


COMPACTION = "{compaction: {enabled: true, when_tokens_over: 10, preserve_recent_messages: 2, summary_ratio: 0.5}}"


@covers("/context_policy/compaction/when_tokens_over", "/context_policy/compaction/preserve_recent_messages")
def test_a_long_conversation_is_summarised(world: World) -> None:
    assert len(remembered(world, COMPACTION)) > 5


@covers("/context_policy/compaction/enabled")
def test_summaries_can_be_switched_off(world: World) -> None:
    assert len(remembered(world, COMPACTION.replace("true", "false"))) == 5


@covers("/context_policy/compaction/summarization_model")
def test_another_model_may_summarise(world: World) -> None:
    requests = remembered(world, COMPACTION.replace("}}", ", summarization_model: small-1}}"))
    assert {request["model"] for request in requests} == {"m", "small-1"}


@covers("/context_policy/compaction/summary_ratio")
def test_the_share_that_is_summarised(world: World) -> None:
    long = "{compaction: {when_tokens_over: 45, preserve_recent_messages: 0, summary_ratio: 0.9}}"
    sent = [len(request["messages"]) for request in remembered(world, long)]
    assert sent == [2, 4, 6, 2, 2, 4], "after the summary nothing but it and the step's input is left"


NOTES = "{notes: {file: notes/all.md, include_last: 1, format: json}}"


@covers("/context_policy/notes/file")
def test_notes_are_left_in_their_file(world: World) -> None:
    world.run(f"context_policy: {NOTES}\n{STEPS}")
    assert "answer 2" in (world.folder / "notes/all.md").read_text("utf-8")


@covers("/context_policy/notes/format")
def test_notes_have_their_format(world: World) -> None:
    world.run(f"context_policy: {NOTES}\n{STEPS}")
    assert json.loads((world.folder / "notes/all.md").read_text("utf-8").splitlines()[0])


@covers("/context_policy/notes/include_last")
def test_an_agent_sees_the_latest_notes(world: World) -> None:
    world.run(f"context_policy: {NOTES}\n{FIVE}")
    assert "answer 4" in world.system()
    assert "answer 3" not in world.system()
