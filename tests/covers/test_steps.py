"""What the fields of a step do, in every place of every pattern that takes one."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from strands_cli.errors import WaitingForPerson
from tests.covers.kit import Ran, World, covers_each
from tests.fakes.model_server import Turn
from tests.yaml_texts import write_yaml

# Every field of the reference does what it says.
pytestmark = pytest.mark.docs

Step = dict[str, Any]
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(60)
AGENT: Step = {"agent": "a", "input": "go"}
GATE: Step = {"type": "hitl", "prompt": "Well?"}
JUDGE: Step = {"agent": "j", "input": "judge"}
AGENTS = {
    "a": {"prompt": "You help.", "tools": []},
    "j": {"prompt": "You judge.", "tools": []},
    "other": {"prompt": "You are the other.", "tools": []},
}


def chain(step: Step) -> dict[str, Any]:
    return {"type": "chain", "config": {"steps": [step]}}


def tasks(step: Step) -> dict[str, Any]:
    return {"type": "workflow", "config": {"tasks": [{"id": "x", **step}]}}


def routes(step: Step) -> dict[str, Any]:
    return {"type": "routing", "config": {"router": JUDGE, "routes": {"r": {"then": [step]}}}}


def branches(step: Step) -> dict[str, Any]:
    return {"type": "parallel", "config": {"branches": [{"id": "x", "steps": [step]}, {"id": "y", "steps": [AGENT]}]}}


def reduce(step: Step) -> dict[str, Any]:
    parts = [{"id": "x", "steps": [AGENT]}, {"id": "y", "steps": [AGENT]}]
    return {"type": "parallel", "config": {"branches": parts, "reduce": step}}


def nodes(step: Step) -> dict[str, Any]:
    return {"type": "graph", "config": {"nodes": {"x": step}, "edges": []}}


def writeup(step: Step) -> dict[str, Any]:
    return orchestrated({"writeup": step})


def orchestrated(more: dict[str, Any], orchestrator: Step = JUDGE) -> dict[str, Any]:
    limited = {"limits": {"max_rounds": 1}, **orchestrator}
    config = {"orchestrator": limited, "worker_template": {"agent": "a"}, **more}
    return {"type": "orchestrator_workers", "config": config}


def router(step: Step) -> dict[str, Any]:
    return {"type": "routing", "config": {"router": step, "routes": {"r": {"then": [AGENT]}}}}


def evaluator(step: Step) -> dict[str, Any]:
    config = {"producer": "a", "producer_input": "go", "evaluator": step, "accept": {"min_score": 95, "max_iters": 2}}
    return {"type": "evaluator_optimizer", "config": config}


def orchestrator(step: Step) -> dict[str, Any]:
    return orchestrated({}, step)


def reviewed_router(step: Step) -> dict[str, Any]:
    return router({**JUDGE, "review_router": step})


def reviewed_draft(step: Step) -> dict[str, Any]:
    made = evaluator(JUDGE)
    return {**made, "config": {**made["config"], "review_gate": step}}


def reviewed_tasks(step: Step) -> dict[str, Any]:
    return orchestrated({"decomposition_review": step})


def reviewed_reduce(step: Step) -> dict[str, Any]:
    return orchestrated({"reduce_review": step, "reduce": AGENT})


Place = Callable[[Step], dict[str, Any]]
ANY_STEP: dict[str, Place] = {
    "/pattern/config/steps/*": chain,
    "/pattern/config/tasks/*": tasks,
    "/pattern/config/routes/*/then/*": routes,
    "/pattern/config/branches/*/steps/*": branches,
    "/pattern/config/reduce": reduce,
    "/pattern/config/nodes/*": nodes,
    "/pattern/config/writeup": writeup,
}
AGENT_ONLY: dict[str, Place] = {
    "/pattern/config/router": router,
    "/pattern/config/evaluator": evaluator,
    "/pattern/config/orchestrator": orchestrator,
}
GATE_ONLY: dict[str, Place] = {
    "/pattern/config/router/review_router": reviewed_router,
    "/pattern/config/review_gate": reviewed_draft,
    "/pattern/config/decomposition_review": reviewed_tasks,
    "/pattern/config/reduce_review": reviewed_reduce,
}
PLACES = {**ANY_STEP, **AGENT_ONLY, **GATE_ONLY}
AGENT_PLACES = {**ANY_STEP, **AGENT_ONLY}
GATE_PLACES = {**ANY_STEP, **GATE_ONLY}


def each(places: dict[str, Place], field: str) -> dict[str, str]:
    return {place: f"{place}/{field}" for place in places}


def go(world: World, place: str, step: Step, calls: Sequence[str] = ()) -> Ran:
    """Run the step in its place; who decides something there decides for what the others wait for.

    The first model that is offered a tool of `calls` calls it.
    """
    left = list(calls)

    def answer(request: dict[str, Any]) -> Turn:
        offered = {tool["function"]["name"]: json.dumps(tool) for tool in request.get("tools", [])}
        if left and left[0] in offered:
            return Turn(calls=[(left.pop(), {})])
        wanted = offered.get("final_answer", "")
        decisions = {"score": '{"score": 90, "issues": [], "fixes": []}', "route": '{"route": "r"}'}
        default = '[{"task": "t"}]' if wanted else "done"
        return Turn(next((text for word, text in decisions.items() if f'"{word}"' in wanted), default))

    world.answer = answer  # type: ignore[method-assign]
    inputs = {"optional": {"topic": {"default": "bees"}}}
    return world.run(write_yaml({"agents": AGENTS, "inputs": inputs, "pattern": PLACES[place](step)}))


def sent(world: World, text: str) -> bool:
    return any(text in json.dumps(request["messages"]) for request in world.requests)


@covers_each(each(AGENT_PLACES, "agent"))
def test_the_agent_that_is_named_acts(world: World, case: str) -> None:
    go(world, case, {"agent": "other", "input": "go"})
    assert sent(world, "You are the other.")


@covers_each(each(AGENT_PLACES, "input"))
def test_the_input_is_rendered_and_sent(world: World, case: str) -> None:
    go(world, case, {"agent": "a", "input": "all about {{ topic }}"})
    assert sent(world, "all about bees")


@covers_each(each(AGENT_PLACES, "vars"))
def test_a_step_has_names_of_its_own(world: World, case: str) -> None:
    go(world, case, {"agent": "a", "input": "{{ mine }}", "vars": {"mine": "my {{ topic }}"}})
    assert sent(world, "my bees")


@covers_each(each(AGENT_PLACES, "attachments/*/path"))
def test_a_picture_is_sent_with_the_input(world: World, case: str) -> None:
    (world.folder / "hive.png").write_bytes(PICTURE)
    go(world, case, {"agent": "a", "input": "go", "attachments": [{"path": "hive.png", "type": "png"}]})
    assert sent(world, base64.b64encode(PICTURE).decode())


@covers_each(each(AGENT_PLACES, "attachments/*/type"))
def test_a_file_of_another_type_is_refused(world: World, case: str) -> None:
    (world.folder / "hive.png").write_bytes(PICTURE)
    ran = go(world, case, {"agent": "a", "input": "go", "attachments": [{"path": "hive.png", "type": "pdf"}]})
    assert ran.error is not None
    assert world.requests == [] or not sent(world, base64.b64encode(PICTURE).decode())


@covers_each(each(AGENT_PLACES, "tool_overrides/*/tool"))
def test_a_step_has_other_tools(world: World, case: str) -> None:
    go(world, case, {"agent": "a", "input": "go", "tool_overrides": [{"tool": "calculator"}]})
    assert any("calculator" in world.tools(number) for number in range(len(world.requests)))


@covers_each(each(AGENT_PLACES, "tool_overrides/*/as"))
def test_a_step_gives_its_tools_names(world: World, case: str) -> None:
    overrides = [{"tool": "calculator", "as": "sums"}]
    go(world, case, {"agent": "a", "input": "go", "tool_overrides": overrides})
    assert any("sums" in world.tools(number) for number in range(len(world.requests)))


@covers_each(each(AGENT_PLACES, "tool_overrides/*/config"))
def test_a_step_configures_its_tools(world: World, case: str) -> None:
    overrides = [{"tool": "current_time", "config": {"default_timezone": "Asia/Tokyo"}}]
    go(world, case, {"agent": "a", "input": "go", "tool_overrides": overrides}, calls=["current_time"])
    assert sent(world, "Asia/Tokyo")


@covers_each(each(ANY_STEP, "tool"))
def test_a_step_calls_a_tool(world: World, case: str) -> None:
    ran = go(world, case, {"tool": "calculator", "input": {"expression": "6 * 7"}})
    assert [event.tool for event in ran.events if type(event).__name__ == "ToolCallFinished"] == ["calculator"]


@covers_each({place: pointer for place, pointer in each(ANY_STEP, "on_error").items() if "tasks" not in place})
def test_a_step_passes_an_error_of_its_tool_on(world: World, case: str) -> None:
    ran = go(world, case, {"tool": "calculator", "input": {"expression": "1 / 0"}, "on_error": "continue"})
    assert ran.error is None, ran.error


# Where only a gate is possible, its type means nothing.
@covers_each(each(ANY_STEP, "type"))
def test_a_person_is_asked(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, GATE)
    assert [question.kind for question in world.asked] == ["gate"]


@covers_each(each(GATE_PLACES, "prompt"))
def test_the_question_is_rendered(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, {**GATE, "prompt": "All about {{ topic }}?"})
    assert world.asked[0].prompt == "All about bees?"


@covers_each(each(GATE_PLACES, "context_display"))
def test_a_person_sees_what_it_is_about(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, {**GATE, "context_display": "It is about {{ topic }}."})
    assert world.asked[0].context == "It is about bees."


@covers_each(each(GATE_PLACES, "default"))
def test_a_question_has_a_default(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, {**GATE, "default": "yes"})
    assert world.asked[0].default == "yes"


@covers_each(each(GATE_PLACES, "timeout_seconds"))
def test_a_question_waits_so_long(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, {**GATE, "default": "yes", "timeout_seconds": 60})
    assert world.asked[0].timeout_s == 60


@covers_each(each(GATE_PLACES, "validation/pattern"))
def test_an_answer_must_match(world: World, case: str) -> None:
    world.answers = ["perhaps", "yes"]
    go(world, case, {**GATE, "validation": {"pattern": "yes|no"}})
    first, second = world.asked
    assert first.problem is None
    assert re.search(r"'perhaps' .*('yes\|no'|\byes$)", str(second.problem))


@covers_each(each(GATE_PLACES, "answer"))
def test_an_answer_fits_its_schema(world: World, case: str) -> None:
    world.answers = ["perhaps", "Y"]
    ran = go(world, case, {**GATE, "answer": {"type": "boolean"}})
    if "review_router" in case:
        assert ran.error is not None, "its answers are the routes"
        return
    first, second = world.asked
    assert (first.words, first.problem) == (("yes", "no"), None)
    assert second.problem is not None


@covers_each(each(GATE_PLACES, "approvers"))
def test_several_people_answer(world: World, case: str) -> None:
    world.answers = ["yes"]
    ran = go(world, case, {**GATE, "approvers": 2})
    assert isinstance(ran.error, WaitingForPerson), "one has answered"
    assert [question.approvers for question in world.asked] == [2]


@covers_each(each(GATE_PLACES, "expires"))
def test_an_answer_is_accepted_so_long(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, {**GATE, "expires": "2h"})
    assert (world.asked[0].timeout_s, world.asked[0].on_expiry) == (7200, "reject")


@covers_each(each(GATE_PLACES, "on_expiry"))
def test_a_question_ends_so(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, {**GATE, "expires": "2h", "on_expiry": "fail"})
    assert world.asked[0].on_expiry == "fail"


@covers_each(each(GATE_PLACES, "delegate"))
def test_a_question_is_for_a_person(world: World, case: str) -> None:
    world.answers = ["yes"]
    go(world, case, {**GATE, "delegate": "ann"})
    assert world.asked[0].delegate == "ann"
