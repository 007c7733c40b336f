"""The answers that a workflow knows of each gate: the words that its conditions and templates compare with."""

from __future__ import annotations

import json

import pytest

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.steps import meant_word

ASK = {"type": "hitl", "prompt": "Well?"}
YES_OR_NO = {**ASK, "validation": {"pattern": "yes|no"}}


def spec_of(kind: str, outputs: str = "", **config: object) -> WorkflowSpec:
    pattern = {"type": kind, "config": config}
    artifacts = [{"path": "a.md", "from": outputs}] if outputs else []
    parts = {"version": 2, "name": "f", "runtime": {"provider": "replay"}, "agents": {"a": {"prompt": "p"}}}
    return WorkflowSpec.model_validate({**parts, "pattern": pattern, "outputs": {"artifacts": artifacts}})


def chain(*steps: object, outputs: str = "") -> WorkflowSpec:
    return spec_of("chain", outputs, steps=list(steps))


def says(text: str) -> dict[str, str]:
    return {"agent": "a", "input": text}


def graph(when: str, **nodes: object) -> WorkflowSpec:
    others = {"go": says("go"), "stop": says("stop"), **nodes}
    choose = [{"when": when, "to": "go"}, {"when": "else", "to": "stop"}]
    return spec_of("graph", nodes={"ask": ASK, **others}, edges=[{"from": "ask", "choose": choose}])


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("{{ nodes.ask.response == 'approve' }}", ("approve",)),
        ("nodes.ask.response != 'reject'", ("reject",)),
        ("{{ 'Approve' == nodes['ask'].response }}", ("Approve",)),
        ("{{ nodes.ask.response.lower().strip() in ['ship it', 'yes', 'ok'] }}", ("yes", "ok", "ship it")),
        ("{{ nodes.ask.response | lower | trim in ('no',) }}", ("no",)),
        ("{{ nodes.ask.response contains 'approve' }}", ("approve",)),
        ("{{ nodes.ask.response.startswith('app') }}", ("app",)),
        ("{{ nodes.ask.response is eq('yes') and not hitl_response == 'later' }}", ("yes", "later")),
        ("{{ last_response == 'go on' }}", ("go on",)),
        ("{{ nodes.ask.approved or nodes.ask.response == 'ship it' }}", ("approved", "ship it")),
        ("{{ nodes.ask.approved or nodes.ask.response == 'approve' }}", ("approve",)),
        ("{{ nodes.ask.response == nodes.go.response }}", ()),
        ("{{ nodes.ask.response | length > 3 }}", ()),
        ("{{ nodes.ask.agent == 'person' }}", ()),
        ("{{ nodes.go.response == 'done' }}", ()),
        ("{{ 'a' == 'a' }}", ()),
    ],
)
def test_a_gate_has_the_words_that_the_conditions_after_it_compare_with(when: str, words: tuple[str, ...]) -> None:
    assert graph(when).words_of_gate("nodes.ask#2") == (words, False)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([ASK, says("{% if steps[0].response == 'yes' %}x{% endif %}")], {"steps.0": ("yes",)}),
        ([says("x"), ASK, says("{{ steps[-1].response == 'ok' }}")], {"steps.1": ("ok",)}),
        ([ASK, ASK, says("{{ hitl_response == 'b' }}")], {"steps.0": (), "steps.1": ("b",)}),
        ([ASK, says("{{ last_response == 'b' }}"), says("{{ last_response == 'c' }}")], {"steps.0": ("b",)}),
        ([ASK, {"agent": "a", "vars": {"v": "{{ hitl_response == 'v' }}"}}], {"steps.0": ("v",)}),
        ([YES_OR_NO, says("{{ hitl_response in ['yes', 'later'] }}")], {"steps.0": ("yes",)}),
    ],
)
def test_a_word_belongs_to_the_gate_whose_answer_is_compared(steps: list[object], words: dict[str, object]) -> None:
    spec = chain(*steps)
    assert {key: spec.words_of_gate(key)[0] for key in words} == words


def test_artifacts_of_a_chain_know_words_of_its_gates() -> None:
    spec = chain(ASK, outputs="{{ 'x' if steps[-1].response == 'print' }}{{ last_response == 'so' }}")
    assert spec.words_of_gate("steps.0") == (("print", "so"), False)
    assert spec.words_of_gate("call/w/steps.0") == (("print", "so"), False), "also as a tool of another workflow"
    assert spec.words_of_gate("steps.7") == ((), False)


def test_the_gates_of_tasks_branches_and_drafts_have_their_words() -> None:
    dag = spec_of(
        "workflow", tasks=[{"id": "t", **ASK}, {"id": "u", "deps": ["t"], **says("{{ tasks.t.response == 'do' }}")}]
    )
    assert dag.words_of_gate("tasks.t") == (("do",), False)
    one = {"id": "x", "steps": [ASK, says("{{ steps[0].response == 'x' }}")]}
    other = {"id": "y", "steps": [ASK, says("{{ steps[0].response == 'y' }}")]}
    parallel = spec_of("parallel", branches=[one, other])
    assert parallel.words_of_gate("branches.x.steps.0") == (("x",), False)
    drafts = {"producer": "a", "evaluator": {"agent": "a"}, "accept": {"min_score": 1}, "review_gate": ASK}
    revised = spec_of("evaluator_optimizer", **drafts, revise_prompt="{% if hitl_response == 'shorter' %}s{% endif %}")
    ends = ("approved", "stop", "abort", "end", "accept")
    assert revised.words_of_gate("iterations.3.review") == ((*ends, "shorter"), False)


def routing(routes: list[str], **gate: object) -> WorkflowSpec:
    router = {"agent": "a", "review_router": {**ASK, **gate}}
    return spec_of("routing", router=router, routes={name: {"then": [says("x")]} for name in routes})


def test_the_review_of_a_router_takes_routes_and_approvals_only() -> None:
    approvals = ("approved", "approve", "yes", "y", "ok")
    assert routing(["a", "b"]).words_of_gate("router.review#2") == ((*approvals, "a", "b"), True)
    assert routing(["a"], default="go on").words_of_gate("router.review")[0] == (*approvals, "a", "go on")
    fitting = routing(["a", "b"], validation={"pattern": "yes|b"})
    assert fitting.words_of_gate("router.review")[0] == ("yes", "b")
    assert routing(["Approved", "y"]).words_of_gate("router.review")[0] == ("approve", "yes", "ok", "Approved", "y")


@pytest.mark.parametrize(
    ("text", "word"),
    [("b", "b"), (" route: B ", "b"), ("ROUTE:b", "b"), ("Yes", "ok"), ("approve", "approve"), ("c", None), ("", None)],
)
def test_an_answer_means_a_word_in_any_case_and_after_a_prefix(text: str, word: str | None) -> None:
    assert meant_word(text, ("ok", "b", "approve")) == word


def test_a_workflow_without_a_gate_compiles_nothing_for_it() -> None:
    assert chain(says("{{ 1 == 'x' }}")).words_of_gate(json.dumps("any")) == ((), False)
