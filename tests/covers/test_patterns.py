"""What the fields of the patterns do besides their steps, and that no field of the format is left out."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import RunFailed
from strands_cli.events import StepFinished, StepStarted
from tests.covers.kit import CLAIMED, Ran, World, covers, pointers_of_format
from tests.fakes.model_server import Turn
from tests.yaml_texts import read_yaml, write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

AGENTS: dict[str, Any] = {name: {"prompt": f"You are {name}.", "tools": []} for name in ("a", "b", "j")}


def run(world: World, kind: str, config: str, *turns: str) -> Ran:
    world.turns = list(turns)
    pattern = {"type": kind, "config": read_yaml(config)}
    return world.run(write_yaml({"agents": AGENTS, "pattern": pattern}))


def prompts(world: World) -> list[str]:
    return [world.last_message(number) for number in range(len(world.requests))]


@covers("/pattern/type")
def test_the_pattern_is_the_one_named(world: World) -> None:
    run(world, "chain", "{steps: [{agent: a, input: one}, {agent: a, input: two}]}")
    assert prompts(world) == ["one", "two"]


@covers("/pattern/config/tasks/*/id")
def test_a_task_is_known_by_its_id(world: World) -> None:
    ran = run(world, "workflow", "{tasks: [{id: x, agent: a, input: one}]}")
    assert [event.key for event in ran.events if type(event).__name__ == "StepStarted"] == ["tasks.x"]


@covers("/pattern/config/tasks/*/deps")
def test_a_task_waits_for_its_dependencies(world: World) -> None:
    tasks = "[{id: y, deps: [x], agent: a, input: two}, {id: x, agent: a, input: one}]"
    ran = run(world, "workflow", f"{{tasks: {tasks}}}")
    steps = [event.key for event in ran.events if type(event).__name__ in ("StepStarted", "StepFinished")]
    assert steps == ["tasks.x", "tasks.x", "tasks.y", "tasks.y"]


@covers("/pattern/config/tasks/*/on_error")
def test_the_others_go_on_when_a_task_fails(world: World) -> None:
    tasks = "[{id: x, agent: a, input: one, on_error: continue}, {id: y, agent: a, input: two}]"
    world.turns = [Turn(status=400)]
    pattern = {"type": "workflow", "config": {"tasks": read_yaml(tasks)}}
    # One at a time, so that the first is the one that fails.
    ran = world.run(write_yaml({"agents": AGENTS, "runtime": {"max_parallel": 1}, "pattern": pattern}))
    assert ran.error is None, ran.error


@covers("/pattern/config/branches/*/on_error")
def test_the_others_go_on_when_a_branch_fails(world: World) -> None:
    branches = (
        "[{id: x, on_error: continue, steps: [{agent: a, input: one}]}, {id: y, steps: [{agent: a, input: two}]}]"
    )
    world.turns = [Turn(status=400)]
    pattern = {"type": "parallel", "config": {"branches": read_yaml(branches)}}
    # One at a time, so that the first is the one that fails.
    ran = world.run(write_yaml({"agents": AGENTS, "runtime": {"max_parallel": 1}, "pattern": pattern}))
    assert ran.error is None, ran.error


@covers("/pattern/config/branches/*/id")
def test_a_branch_is_known_by_its_id(world: World) -> None:
    branches = "[{id: x, steps: [{agent: a, input: one}]}, {id: y, steps: [{agent: a, input: two}]}]"
    run(
        world,
        "parallel",
        f"{{branches: {branches}, reduce: {{agent: a, input: '{{{{ branches.y.response }}}} it is'}}}}",
    )
    assert prompts(world)[-1] in ("answer 1 it is", "answer 2 it is")


ROUTES = "routes: {r: {then: [{agent: a, input: right}]}, s: {then: [{agent: a, input: wrong}]}}"


@covers("/pattern/config/router/max_retries")
def test_a_router_is_asked_again_so_often(world: World) -> None:
    route = '{"route": "nowhere"}'
    run(world, "routing", f"{{router: {{agent: j, input: go, max_retries: 0}}, {ROUTES}, default: r}}", route)
    assert prompts(world)[-1] == "right"
    assert len(world.requests) == 2


@covers("/pattern/config/default")
def test_the_default_route_is_taken(world: World) -> None:
    route = '{"route": "nowhere"}'
    config = f"{{router: {{agent: j, input: go, max_retries: 0}}, {ROUTES}, default: r}}"
    run(world, "routing", config, route)
    assert prompts(world)[-1] == "right"


JUDGED = "evaluator: {agent: j, input: 'Judge {{ draft }}'}"


def scored(score: int, issue: str = "dull") -> str:
    return json.dumps({"score": score, "issues": [issue], "fixes": []})


@covers("/pattern/config/producer")
def test_the_producer_writes(world: World) -> None:
    run(world, "evaluator_optimizer", f"{{producer: b, {JUDGED}, accept: {{min_score: 1}}}}", "draft", scored(90))
    assert world.system(0) == "You are b."


@covers("/pattern/config/producer_input")
def test_the_producer_is_shown_what_to_write(world: World) -> None:
    config = f"{{producer: b, producer_input: A slogan., {JUDGED}, accept: {{min_score: 1}}}}"
    run(world, "evaluator_optimizer", config, "draft", scored(90))
    assert prompts(world)[0] == "A slogan."


@covers("/pattern/config/accept/min_score")
def test_a_draft_is_accepted_from_its_score(world: World) -> None:
    config = f"{{producer: b, {JUDGED}, accept: {{min_score: 60}}}}"
    ran = run(world, "evaluator_optimizer", config, "first", scored(50), "second", scored(70))
    assert ran.response == "second"


@covers("/pattern/config/accept/max_iters")
def test_there_are_no_more_drafts(world: World) -> None:
    config = f"{{producer: b, {JUDGED}, accept: {{min_score: 99, max_iters: 1}}}}"
    ran = run(world, "evaluator_optimizer", config, "first", scored(50), "second", scored(99))
    assert ran.error is not None
    assert len(prompts(world)) == 2, "one draft and its evaluation"


@covers("/pattern/config/on_reject")
def test_the_last_draft_is_taken_without_being_accepted(world: World) -> None:
    config = f"{{producer: b, {JUDGED}, accept: {{min_score: 99, max_iters: 1}}, on_reject: accept}}"
    ran = run(world, "evaluator_optimizer", config, "first", scored(50), "second", scored(99))
    assert ran.response == "first"


@covers("/pattern/config/revise_prompt")
def test_the_next_draft_is_asked_for_in_these_words(world: World) -> None:
    config = f"{{producer: b, {JUDGED}, accept: {{min_score: 60}}, revise_prompt: 'Not {{{{ evaluation.score }}}}!'}}"
    run(world, "evaluator_optimizer", config, "first", scored(50), "second", scored(70))
    assert prompts(world)[2] == "Not 50!"


def orchestrated(world: World, config: str, *turns: str) -> Ran:
    return run(world, "orchestrator_workers", config, *turns)


TWO_TASKS = '[{"task": "one"}, {"task": "two"}]'


@covers("/pattern/config/worker_template/agent")
def test_workers_are_made_of_their_agent(world: World) -> None:
    orchestrated(
        world, "{orchestrator: {agent: j, input: go, limits: {max_rounds: 1}}, worker_template: {agent: b}}", TWO_TASKS
    )
    assert [world.system(number) for number in (1, 2)] == ["You are b."] * 2


@covers("/pattern/config/worker_template/tools/*/tool", "/pattern/config/worker_template/tools/*/as")
def test_workers_have_tools(world: World) -> None:
    template = "{agent: b, tools: [{tool: calculator, as: sums}]}"
    orchestrated(
        world,
        f"{{orchestrator: {{agent: j, input: go, limits: {{max_rounds: 1}}}}, worker_template: {template}}}",
        TWO_TASKS,
    )
    assert world.tools(1) == ["sums"]


@covers("/pattern/config/worker_template/tools/*/config")
def test_the_tools_of_workers_are_configured(world: World) -> None:
    template = "{agent: b, tools: [{tool: current_time, config: {default_timezone: Asia/Tokyo}}]}"
    world.turns = [Turn('[{"task": "one"}]'), Turn(calls=[("current_time", {})])]
    config = read_yaml(
        f"{{orchestrator: {{agent: j, input: go, limits: {{max_rounds: 1}}}}, worker_template: {template}}}"
    )
    world.run(write_yaml({"agents": AGENTS, "pattern": {"type": "orchestrator_workers", "config": config}}))
    assert "Asia/Tokyo" in json.dumps(world.requests[2]["messages"][-1])


@covers("/pattern/config/orchestrator/limits/max_workers")
def test_workers_beyond_the_limit_wait_for_those_before(world: World) -> None:
    limits = "{max_workers: 1, max_rounds: 1}"
    ran = orchestrated(
        world, f"{{orchestrator: {{agent: j, input: go, limits: {limits}}}, worker_template: {{agent: b}}}}", TWO_TASKS
    )
    workers = [
        f"{type(event).__name__} {event.key}"
        for event in ran.events
        if isinstance(event, (StepStarted, StepFinished)) and event.key.startswith("workers")
    ]
    one_by_one = [f"{what} workers.{n}" for n in range(2) for what in ("StepStarted", "StepFinished")]
    assert workers == one_by_one


@covers("/pattern/config/orchestrator/limits/max_tasks")
def test_there_are_no_more_tasks(world: World) -> None:
    ran = orchestrated(
        world,
        "{orchestrator: {agent: j, input: go, limits: {max_tasks: 1}}, worker_template: {agent: b}}",
        TWO_TASKS,
    )
    assert isinstance(ran.error, RunFailed)
    assert len(world.requests) == 1


@covers("/pattern/config/orchestrator/limits/max_rounds")
def test_there_are_so_many_rounds(world: World) -> None:
    limits = "{max_rounds: 2}"
    one = '[{"task": "one"}]'
    orchestrated(
        world,
        f"{{orchestrator: {{agent: j, input: go, limits: {limits}}}, worker_template: {{agent: b}}}}",
        one,
        "done",
        one,
        "done",
    )
    assert len(world.requests) == 4


NODES = "nodes: {x: {agent: a, input: one}, y: {agent: a, input: two}, z: {agent: a, input: three}}"


@covers("/pattern/config/edges/*/from", "/pattern/config/edges/*/to")
def test_an_edge_leads_on(world: World) -> None:
    run(world, "graph", f"{{{NODES}, edges: [{{from: x, to: [z]}}]}}")
    assert prompts(world) == ["one", "three"]


@covers("/pattern/config/edges/*/choose/*/when", "/pattern/config/edges/*/choose/*/to")
def test_the_first_choice_that_holds_leads_on(world: World) -> None:
    choose = "[{when: \"nodes.x.response == 'no'\", to: y}, {when: else, to: z}]"
    run(world, "graph", f"{{{NODES}, edges: [{{from: x, choose: {choose}}}]}}", "yes")
    assert prompts(world) == ["one", "three"]


@covers("/pattern/config/max_iterations")
def test_a_node_runs_no_more_often(world: World) -> None:
    ran = run(world, "graph", f"{{{NODES}, max_iterations: 2, edges: [{{from: x, to: [x]}}]}}")
    assert len(world.requests) == 2
    assert ran.error is not None


# Fields that are only for people, or whose meaning no other field could have.
SAY_NOTHING = {
    f"/pattern/config/{place}/type"
    for place in ("router/review_router", "review_gate", "decomposition_review", "reduce_review")
}


def test_every_field_of_the_format_is_claimed() -> None:
    for path in Path(__file__).parent.glob("test_*.py"):  # claims are made when they are imported
        importlib.import_module(f"tests.covers.{path.stem}")
    unclaimed = pointers_of_format() - CLAIMED - SAY_NOTHING
    assert sorted(unclaimed) == []
    assert pointers_of_format() >= CLAIMED


def test_a_claim_is_broken_by_a_test_that_does_not_need_the_field(world: World) -> None:
    @covers("/name")
    def needs_nothing(world: World) -> None:
        world.run("{}")

    mark = needs_nothing
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        mark(world=world, case=None, dropped="/runtime/failure_policy")
