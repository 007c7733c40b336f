from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import InvalidAnswer, RunFailed, WaitingForPerson
from strands_cli.events import StepFinished
from tests.fakes.model_server import ModelServer, Turn
from tests.patterns.flows import PATTERNS, model
from tests.patterns.kit import Minding, People, journal_in, marks_in, plan_in, run_in
from tests.wordings import Wording


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_runs_with_agents_tools_gates_and_calls(name: str, tmp_path: Path) -> None:
    pattern, answers, response, marks = PATTERNS[name]
    with ModelServer(model()) as server:
        people = People(answers)
        result = run_in(tmp_path, plan_in(tmp_path, pattern, server.url), people)
        assert result.model_calls == len(server.model_requests)
    assert result.response == response
    assert people.asked == list(answers)
    assert marks_in(tmp_path) == marks


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_waits_for_a_person_and_goes_on_without_repeating_a_call(name: str, tmp_path: Path) -> None:
    pattern, answers, response, marks = PATTERNS[name]
    with ModelServer(model()) as server:
        plan = plan_in(tmp_path, pattern, server.url)
        with pytest.raises(WaitingForPerson):
            run_in(tmp_path, plan)
        before = len(server.model_requests)
        result = run_in(tmp_path, plan, People(answers))
        assert result.model_calls == len(server.model_requests), "counted over both processes"
        assert 0 < before < len(server.model_requests) or name == "chain" or name == "routing"
    assert result.response == response
    assert marks_in(tmp_path) == marks


def test_requests_side_by_side_are_as_many_as_max_parallel_and_never_more(tmp_path: Path) -> None:
    branches = ", ".join(f"{{id: b{n}, steps: [{{agent: editor, input: 'b{n}'}}]}}" for n in range(9))
    opened: list[threading.Event] = []
    most: list[int] = []

    def held(text: str) -> Turn:
        opened.append(threading.Event())
        waiting = [one for one in opened if not one.is_set()]
        most.append(len(waiting))
        if len(waiting) == 3:  # a fourth has a moment to come
            threading.Timer(0.1, lambda: [one.set() for one in waiting]).start()
        return Turn("done", after=opened[-1])

    with ModelServer(Minding((".", held))) as server:
        run_in(tmp_path, plan_in(tmp_path, f"type: parallel\nconfig: {{branches: [{branches}]}}", server.url))
    assert most == [1, 2, 3] * 3


def test_answers_are_in_the_order_of_the_file_whichever_comes_first(tmp_path: Path) -> None:
    # The last is answered at once, and each of the others when the one behind it is over.
    over = [threading.Event() for _ in range(3)]
    slow = [(rf"^b{n}$", Turn(f"answer {n}", after=over[n + 1] if n < 2 else None)) for n in range(3)]
    branches = ", ".join(f"{{id: b{n}, steps: [{{agent: editor, input: 'b{n}'}}]}}" for n in range(3))
    ended: list[str] = []
    pattern = f"""
type: parallel
config:
  branches: [{branches}]
  reduce:
    agent: editor
    input: "{{% for id, b in branches.items() %}}{{{{ id }}}}={{{{ b.response }}}} {{% endfor %}}"
"""

    def listen(event: Any) -> None:
        if isinstance(event, StepFinished):
            ended.append(event.key)
            for n in range(3):
                if event.key == f"branches.b{n}.steps.0":
                    over[n].set()

    with ModelServer(Minding(*slow)) as server:
        result = run_in(tmp_path, plan_in(tmp_path, pattern, server.url), emit=listen)
    assert ended[:3] == [f"branches.b{n}.steps.0" for n in (2, 1, 0)], "the last was first"
    assert result.response == "<b0=answer 0 b1=answer 1 b2=answer 2 >"


def test_a_task_starts_while_others_of_its_layer_are_still_at_work(tmp_path: Path) -> None:
    pattern = """
type: workflow
config:
  tasks:
    - {id: slow, agent: editor, input: slow}
    - {id: quick, agent: editor, input: quick}
    - {id: next, deps: [quick], agent: editor, input: "next {{ tasks.quick.response }}"}
    - {id: end, deps: [next, slow], agent: editor, input: "end"}
"""
    has_next_begun = threading.Event()

    def begins(text: str) -> Turn:
        has_next_begun.set()
        return Turn(f"<{text}>")

    minding = Minding((r"^slow", Turn("slowly", after=has_next_begun)), (r"^next", begins))
    with ModelServer(minding) as server:
        run_in(tmp_path, plan_in(tmp_path, pattern, server.url))
    assert set(minding.texts[:2]) == {"slow", "quick"}
    assert minding.texts[2:] == ["next <quick>", "end"]


FAILING = """
type: parallel
config:
  branches:
    - {id: bad, on_error: ON_ERROR, steps: [{agent: editor, input: bad}]}
    - {id: good, steps: [{agent: editor, input: good}]}
  reduce: {agent: editor, input: "{{ branches.bad.status }} {{ branches.good.response }}"}
"""


def test_a_failing_branch_stops_the_run_unless_it_may_fail(tmp_path: Path) -> None:
    refusing = (r"^bad", Turn(status=400, body={"error": {"message": "no such thing", "code": "x"}}))
    with ModelServer(Minding(refusing)) as server:
        plan = plan_in(tmp_path / "a", FAILING.replace("ON_ERROR", "stop"), server.url)
        with pytest.raises(RunFailed, match="no such thing"):
            run_in(tmp_path / "a", plan)
        plan = plan_in(tmp_path / "b", FAILING.replace("ON_ERROR", "continue"), server.url)
        assert run_in(tmp_path / "b", plan).response == "<failed <good>>"


ROUTING = """
type: routing
config:
  router: {agent: judge, input: which?, max_retries: 1}
  routes: {a: {then: [{agent: editor, input: "{{ router.chosen_route }}"}]}, b: {then: [{agent: editor, input: b}]}}
"""


@pytest.mark.parametrize(
    ("answers", "response"),
    [
        ([Turn('{"route": "a"}')], "<a>"),
        ([Turn('```json\n{"route": "b"}\n```')], "<b>"),
        ([Turn(calls=[("final_answer", {"route": "a"})])], "<a>"),
        ([Turn("Route a, I think."), Turn(calls=[("final_answer", {"route": "a"})])], "<a>"),
        ([Turn('{"route": "zebra"}'), Turn('{"route": "b"}')], "<b>"),
        ([Turn("a"), Turn("a!"), Turn('{"route": "b"}')], "<b>"),
    ],
    ids=["text JSON", "fenced", "call", "prose, then forced", "invented, then right", "only prose, asked again"],
)
def test_a_router_may_answer_in_any_form_and_is_asked_again(answers: list[Turn], response: str, tmp_path: Path) -> None:
    rest = [Turn(response)]
    with ModelServer([*answers, *rest]) as server:
        assert run_in(tmp_path, plan_in(tmp_path, ROUTING, server.url)).response == response
        assert server.remaining == 0
        sent = server.model_requests[-1]["messages"][-1]["content"]
    assert response.strip("<>") in json.dumps(sent)


def test_a_router_that_never_names_a_route_fails_or_takes_the_default(tmp_path: Path, wording: Wording) -> None:
    invented = (r".", Turn('{"route": "zebra"}'))
    with ModelServer(Minding((r"^[ab]$", Turn("done")), invented)) as server:
        with pytest.raises(RunFailed) as raised:
            run_in(tmp_path / "a", plan_in(tmp_path / "a", ROUTING, server.url))
        wording(raised.value)
        plan = plan_in(tmp_path / "b", f"{ROUTING}  default: b\n", server.url)
        assert run_in(tmp_path / "b", plan).response == "done"


EVALUATOR = """
type: evaluator_optimizer
config: {producer: writer, producer_input: draft, evaluator: {agent: judge, input: judge}, accept: {min_score: 80}}
"""


def test_an_evaluator_that_answers_prose_only_fails_clearly(tmp_path: Path, wording: Wording) -> None:
    with ModelServer(Minding((r".", Turn("I like it.")))) as server:
        with pytest.raises(InvalidAnswer) as raised:
            run_in(tmp_path, plan_in(tmp_path, EVALUATOR, server.url))
        wording(raised.value)
        assert len(server.model_requests) == 3, "the draft, the judgement, and once more in form"


def test_an_evaluator_may_correct_a_wrong_answer_once(tmp_path: Path) -> None:
    wrong, right = (Turn(calls=[("final_answer", {"score": score})]) for score in (500, 95))
    with ModelServer([Turn("a draft"), wrong, right]) as server:
        assert run_in(tmp_path, plan_in(tmp_path, EVALUATOR, server.url)).response == "a draft"
        assert "500 is greater than the maximum of 100" in json.dumps(server.model_requests[-1]["messages"])


def test_an_orchestrator_with_a_thousand_tasks_gets_no_more_than_it_may_have(tmp_path: Path) -> None:
    pattern = """
type: orchestrator_workers
config:
  orchestrator: {agent: judge, input: split, limits: {max_workers: 4, max_tasks: 50}}
  worker_template: {agent: editor}
"""
    thousand = Turn(json.dumps([{"task": f"task {n}"} for n in range(1000)]))
    with ModelServer(Minding((r"Done so far", Turn("[]")), (r"^split", thousand))) as server:
        with pytest.raises(RunFailed, match="50"):
            run_in(tmp_path, plan_in(tmp_path, pattern, server.url))
        assert len(server.model_requests) == 1


OUTPUT = """
type: chain
config:
  steps:
    - {agent: clerk, input: "{{ order }}"}
    - {agent: editor, input: "{{ steps[0].output.city | upper }} {{ steps[0].output.items[1] }}"}
"""
CLERK = """
x-agents: &clerk
  prompt: You read orders.
  tools: []
  input_schema: {type: object, required: [id]}
  output_schema: {type: object, properties: {city: {type: string}, items: {type: array}}, required: [city, items]}
"""


@pytest.mark.parametrize("order", ['{"id": 7}', '{"number": 7}'])
def test_an_agents_schemas_bind_its_input_and_its_answer(order: str, tmp_path: Path, wording: Wording) -> None:
    answer = Turn('{"city": "Ghent", "items": ["a", "b"]}')
    with ModelServer(Minding((r'"id": 7', answer))) as server:
        plan = plan_in(tmp_path, OUTPUT, server.url, rest=CLERK, agents="clerk: *clerk", order=order)
        if "id" in order:
            assert run_in(tmp_path, plan).response == "<GHENT b>"
        else:
            with pytest.raises(RunFailed) as raised:
                run_in(tmp_path, plan)
            wording(raised.value)
            assert server.model_requests == []
            journal = journal_in(tmp_path)
            assert journal.row("steps.0").status == "failed"
            journal.close()
