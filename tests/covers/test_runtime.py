"""What `runtime`, `inputs` and the fields at the top do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.events import ModelRetried, RunStarted, RunWarning
from tests.covers.kit import World, covers, covers_each
from tests.fakes.model_server import Turn

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

TWO = "pattern: {type: chain, config: {steps: [{agent: a, input: one}, {agent: a, input: two}]}}"


@covers("/version")
def test_a_file_says_its_version(world: World) -> None:
    assert world.run("{}").response == "answer 1"


@covers("/name")
def test_the_run_has_the_workflows_name(world: World) -> None:
    (started,) = [event for event in world.run("name: bees").events if isinstance(event, RunStarted)]
    assert started.workflow == "bees"


@covers("/runtime/provider")
def test_the_provider_is_asked(world: World) -> None:
    assert world.run("{}").response == "answer 1"
    assert len(world.requests) == 1


@covers("/runtime/model_id")
def test_the_model_is_named(world: World) -> None:
    world.run("runtime: {model_id: small-1}")
    assert world.requests[0]["model"] == "small-1"


@covers("/runtime/host")
def test_the_host_is_where_requests_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    world.run("{}")
    assert len(world.requests) == 1


@covers_each({name: f"/runtime/{name}" for name in ("temperature", "top_p", "max_tokens")})
def test_a_sampling_setting_is_sent(world: World, case: str) -> None:
    world.run("runtime: {temperature: 0.25, top_p: 0.5, max_tokens: 77}")
    assert world.requests[0][case] == {"temperature": 0.25, "top_p": 0.5, "max_tokens": 77}[case]


@covers("/runtime/options")
def test_options_reach_the_provider(world: World) -> None:
    world.run("runtime: {options: {params: {seed: 11}}}")
    assert world.requests[0]["seed"] == 11


@covers("/runtime/region")
def test_the_region_is_that_of_the_service(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    world.run(f"runtime: {{provider: bedrock, model_id: m, region: eu-north-1, host: '{world.server.host}'}}")
    assert "/eu-north-1/bedrock/" in world.server.requests[0].headers["authorization"]


@covers("/runtime/recording")
def test_a_recording_is_played(world: World) -> None:
    (world.folder / "said.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: as recorded}]}", encoding="utf-8")
    assert world.run("runtime: {provider: replay, recording: said.yaml}").response == "as recorded"


@covers("/runtime/max_parallel")
def test_no_more_steps_run_at_once(world: World) -> None:
    ran = world.run(
        "runtime: {max_parallel: 1}\n"
        "pattern: {type: workflow, config: {tasks: [{id: x, agent: a, input: one}, {id: y, agent: a, input: two}]}}"
    )
    kinds = [type(event).__name__ for event in ran.events if "ModelCall" in type(event).__name__]
    assert kinds == ["ModelCallStarted", "ModelCallFinished"] * 2


LIMITS = {"max_steps": 1, "max_model_calls": 1, "max_tokens": 5, "max_cost_usd": 0.000001, "max_duration_s": 0.0001}


@covers_each({name: f"/runtime/budgets/{name}" for name in LIMITS})
def test_a_budget_stops_the_run(world: World, case: str) -> None:
    ran = world.run(f"runtime: {{model_id: gpt-4.1-mini, budgets: {{{case}: {LIMITS[case]:f}}}}}\n{TWO}")
    assert ran.error is not None
    assert ran.error.exit_code == 20
    assert case in ran.error.message


@covers("/runtime/budgets/max_tool_calls")
def test_a_budget_of_tool_calls_stops_the_run(world: World) -> None:
    world.turns = [Turn(calls=[("current_time", {})]), Turn(calls=[("current_time", {})]), Turn("done")]
    ran = world.run("runtime: {budgets: {max_tool_calls: 1}}\nagents: {a: {prompt: p, tools: [current_time]}}")
    assert ran.error is not None
    assert "max_tool_calls" in ran.error.message


@covers("/runtime/budgets/warn_threshold")
def test_a_warning_comes_at_the_threshold(world: World) -> None:
    ran = world.run(f"runtime: {{budgets: {{max_steps: 4, warn_threshold: 0.2}}}}\n{TWO}")
    assert any("max_steps" in event.message for event in ran.events if isinstance(event, RunWarning))


def retried(world: World, policy: str, fails: int) -> tuple[int, list[float]]:
    """Return how many requests there were, and how long the run waited before each try after the first."""
    world.turns = [Turn(status=500)] * fails + [Turn("at last")]
    ran = world.run(f"runtime: {{failure_policy: {policy}}}")
    return len(world.requests), [event.wait_s for event in ran.events if isinstance(event, ModelRetried)]


@covers("/runtime/failure_policy/retries")
def test_a_failing_call_is_tried_again(world: World) -> None:
    assert retried(world, "{retries: 3, wait_min: 0, wait_max: 0}", 3)[0] == 4


@covers("/runtime/failure_policy/backoff")
def test_waits_grow_as_configured(world: World) -> None:
    assert retried(world, "{retries: 3, backoff: constant, wait_min: 0.01, wait_max: 9}", 3)[1] == [0.01] * 3


@covers("/runtime/failure_policy/wait_min", "/runtime/failure_policy/wait_max")
def test_waits_stay_between_their_bounds(world: World) -> None:
    waits = retried(world, "{retries: 3, backoff: exponential, wait_min: 0.01, wait_max: 0.02}", 3)[1]
    assert waits == [0.01, 0.02, 0.02]


INPUT = "pattern: {type: chain, config: {steps: [{agent: a, input: '{{ topic | tojson }}'}]}}"


@covers("/inputs/required/*/type")
def test_a_required_value_is_read_as_its_type(world: World) -> None:
    world.run(f"inputs: {{required: {{topic: {{type: integer}}}}}}\n{INPUT}", {"topic": "7"})
    assert world.last_message() == "7"


@covers("/inputs/optional/*/type")
def test_an_optional_value_is_read_as_its_type(world: World) -> None:
    world.run(f"inputs: {{optional: {{topic: {{type: integer}}}}}}\n{INPUT}", {"topic": "7"})
    assert world.last_message() == "7"


@covers("/inputs/optional/*/default")
def test_a_default_is_used(world: World) -> None:
    world.run(f"inputs: {{optional: {{topic: {{default: bees}}}}}}\n{INPUT}")
    assert world.last_message() == '"bees"'


@covers_each({kind: f"/inputs/{kind}/*/enum" for kind in ("required", "optional")})
def test_a_value_outside_the_enum_is_refused(world: World, case: str) -> None:
    ran = world.run(f"inputs: {{{case}: {{topic: {{type: string, enum: [bees, wasps]}}}}}}\n{INPUT}", {"topic": "ants"})
    assert ran.error is not None
    assert ran.error.exit_code == 2
    assert world.requests == []


@covers("/inputs/values")
def test_fixed_values_are_inputs(world: World) -> None:
    world.run(f"inputs: {{values: {{topic: bees}}}}\n{INPUT}")
    assert world.last_message() == '"bees"'


@covers("/outputs/artifacts/*/path", "/outputs/artifacts/*/from")
def test_an_artifact_is_written(world: World) -> None:
    ran = world.run("outputs: {artifacts: [{path: 'of-{{ name }}.md', from: 'said: {{ last_response }}'}]}")
    assert ran.error is None, ran.error
    assert (world.folder / "out/of-covered.md").read_text("utf-8").strip() == "said: answer 1"


@covers("/outputs/overwrite")
def test_an_artifact_replaces_that_of_the_run_before(world: World) -> None:
    for number in (1, 2):
        ran = world.run("outputs: {artifacts: [{path: of.md, from: '{{ last_response }}'}], overwrite: true}")
        assert ran.error is None, ran.error
        assert (world.folder / "out/of.md").read_text("utf-8").strip() == f"answer {number}"


@covers("/env/mounts")
def test_a_mount_can_be_read(world: World) -> None:
    elsewhere: Path = world.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "note.txt").write_text("from the mount", encoding="utf-8")
    (world.folder / "here").mkdir()
    world.turns = [Turn(calls=[("file_read", {"path": "@data/note.txt"})]), Turn("done")]
    world.run(f"env: {{mounts: {{data: '{elsewhere}'}}}}\nagents: {{a: {{prompt: p, tools: [file_read]}}}}")
    assert "from the mount" in json.dumps(world.requests[1]["messages"][-1])


def ask_for(world: World, tool: str, arguments: dict[str, Any]) -> None:
    world.turns = [Turn(calls=[(tool, arguments)]), Turn("done")]


@covers("/security/permissions/deny")
def test_a_call_that_the_workflow_denies_is_not_made(world: World) -> None:
    ask_for(world, "calculator", {"expression": "2 + 2"})
    world.run(
        "agents: {a: {prompt: p, tools: [calculator]}}\nsecurity: {permissions: {deny: ['calculator(expression=2*)']}}"
    )
    assert "denied" in json.dumps(world.requests[1]["messages"][-1])


@covers("/security/permissions/ask")
def test_a_call_that_the_workflow_asks_about_is_asked(world: World) -> None:
    ask_for(world, "calculator", {"expression": "2 + 2"})
    world.answers = [True]
    world.run("agents: {a: {prompt: p, tools: [calculator]}}\nsecurity: {permissions: {ask: [calculator]}}")
    assert [question.kind for question in world.asked] == ["approval"]


@covers("/security/guardrails/deny_network")
def test_a_tool_that_reaches_the_network_is_refused(world: World) -> None:
    ask_for(world, "http_request", {"url": "http://localhost:1/"})
    world.run("agents: {a: {prompt: p, tools: [http_request]}}\nsecurity: {guardrails: {deny_network: true}}")
    assert "security.guardrails.deny_network" in json.dumps(world.requests[1]["messages"][-1])


@covers("/security/guardrails/pii_redaction")
def test_a_model_sees_no_personal_data(world: World) -> None:
    world.run("agents: {a: {prompt: 'Write to eve@mail.example.'}}\nsecurity: {guardrails: {pii_redaction: true}}")
    sent = json.dumps(world.requests[0]["messages"])
    assert "Write to [e-mail]." in sent
    assert "eve@mail.example" not in sent


@covers("/security/guardrails/allow_tools")
def test_only_the_tools_named_may_be_called(world: World) -> None:
    ask_for(world, "calculator", {"expression": "2 + 2"})
    world.run("agents: {a: {prompt: p, tools: [calculator]}}\nsecurity: {guardrails: {allow_tools: [current_time]}}")
    assert not world.requests or "denied" in json.dumps(world.requests[1]["messages"][-1])
