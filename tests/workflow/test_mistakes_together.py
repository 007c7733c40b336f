"""A mistake in one part of a workflow hides none in the other parts, and is itself one finding."""

from __future__ import annotations

import re

import pytest

from strands_cli.app import check
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.validation_errors import VERSIONS
from strands_cli.yaml_files.document_reader import read_document

HEAD = """\
version: 2
name: flow
runtime: {provider: replay}
agents: {a: {prompt: Answer.}}
pattern:
"""
TASKS = """\
  type: workflow
  config:
    tasks:
      - {id: one, agent: a, input: "{{ tasks.tow.response }}", deps: [two]}
      - {id: two, agent: a, deps: [one]}
      - {id: two, agent: a, input: go, deps: [on]}
"""
OF_TASKS = [("unknown-name", 9), ("task-cycle", 9), ("duplicate-id", 11), ("unknown-task", 11)]
GRAPH = """\
  type: graph
  config:
    nodes:
      one: {agent: a, input: "{{ nodes.tow.response }}"}
      two: {agent: a}
      alone: {agent: a}
      BROKEN
    edges:
      - {from: one, to: [two, thre]}
      - {from: two, to: [broken], choose: [{when: else, to: one}]}
"""
OF_GRAPH = [("unknown-name", 9), ("unknown-node", 14), ("edge-form", 15)]
CHAIN = """\
  type: chain
  config:
    steps:
      - {agent: a, input: "{{ steps[4].response }}"}
      - BROKEN
      - {agent: a, input: "{{ steps[0].respons }}"}
"""
OF_CHAIN = [("unknown-name", 9), ("unknown-name", 11)]
# A step without a usable form, and the codes of its own mistakes.
BROKEN = {
    "no form": ("input: go", ["step-form"]),
    "a mistyped type": ("type: hilt, prompt: go", ["bad-value"]),
    "two forms": ("tool: 'agent:a', agent: a, input: {path: 3}", ["step-form"]),
    "a type that is none": ("type: [agent], prompt: go", ["bad-value"]),
    "no form, and a template with a mistake": ("input: '{{ x | uper }}'", ["step-form", "bad-template"]),
    "a gate without its type": ("prompt: 'go {% if %}'", ["step-form", "bad-template"]),
    "a call without its tool": ("input: {path: '{{ x | uper }}'}", ["step-form", "bad-template"]),
}


def found(text: str) -> list[tuple[str, int]]:
    return sorted(
        (str(finding.code), finding.where.line or 0)
        for finding in load_spec(read_document("flow.yaml", HEAD + text)).findings
        if finding.where and finding.severity == "error"
    )


@pytest.mark.parametrize("kind", BROKEN)
def test_a_task_with_a_mistake_hides_none_of_the_other_tasks(kind: str) -> None:
    step, codes = BROKEN[kind]
    text = f"{TASKS}      - {{id: broken, {step}, deps: [one]}}\n"
    assert found(text) == sorted([*OF_TASKS, *((code, 12) for code in codes)])


@pytest.mark.parametrize("kind", BROKEN)
def test_a_node_with_a_mistake_hides_none_of_the_graph(kind: str) -> None:
    step, codes = BROKEN[kind]
    assert found(GRAPH.replace("BROKEN", f"broken: {{{step}}}")) == sorted([*OF_GRAPH, *((code, 12) for code in codes)])


@pytest.mark.parametrize("kind", BROKEN)
def test_a_step_with_a_mistake_hides_none_of_the_chain(kind: str) -> None:
    step, codes = BROKEN[kind]
    assert found(CHAIN.replace("BROKEN", f"{{{step}}}")) == sorted([*OF_CHAIN, *((code, 10) for code in codes)])


def test_a_step_without_a_form_could_be_the_gate_whose_answer_is_read() -> None:
    chain = CHAIN.replace("steps[0].respons }", "hitl_response }")
    assert found(chain.replace("BROKEN", "{prompt: go}")) == [("step-form", 10), ("unknown-name", 9)]
    assert found(chain.replace("BROKEN", "{agent: a}")) == [("unknown-name", 9), ("unknown-name", 11)]


def test_a_task_without_an_id_could_be_the_one_that_others_name() -> None:
    text = """\
  type: workflow
  config:
    tasks:
      - {agent: a}
      - {id: two, agent: a, deps: [one], input: "{{ tasks.one.response }}"}
      - {id: two, agent: a}
"""
    assert found(text) == [("duplicate-id", 11), ("missing-key", 9)]


def test_every_key_that_is_missing_is_reported() -> None:
    assert found("  type: evaluator_optimizer\n  config: {}\n") == [("missing-key", 7)] * 3
    bare = "agents: {a: {prompt: Answer.}}\npattern: {type: chain, config: {steps: [{agent: a, input: go}]}}\n"
    said = [finding.fix for finding in load_spec(read_document("flow.yaml", bare)).findings]
    assert said == [VERSIONS, "add `name:`", said[2]]
    assert (said[2] or "").startswith("add `runtime:`")


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ("parallel\n  config: {branches: [{id: one, agent: a, input: go}, {id: two, steps: [{agent: a}]}]}", "steps"),
        ("routing\n  config: {router: {agent: a}, routes: {one: {agent: a, input: go}}}", "then"),
        ("chain\n  config: {agent: a, input: go}", "steps"),
    ],
    ids=["branch", "route", "chain"],
)
def test_what_belongs_into_a_list_of_steps_is_one_finding_for_each_key(config: str, key: str) -> None:
    loaded = load_spec(read_document("flow.yaml", f"{HEAD}  type: {config}\n"))
    assert [(str(one.code), f"`{key}: [" in (one.fix or "")) for one in loaded.findings] == [("unknown-key", True)] * 2


def test_an_edge_with_a_mistake_hides_no_other_edge() -> None:
    text = """\
  type: graph
  config:
    nodes: {one: {agent: a}, two: {agent: a}}
    edges:
      - {from: [one], to: two}
      - {from: two}
      - {from: tow, choose: [{when: [3], to: one}]}
      - {from: one, choose: {}}
"""
    assert found(text) == [
        ("edge-form", 11),
        ("unknown-node", 12),
        ("wrong-type", 10),
        ("wrong-type", 12),
        ("wrong-type", 13),
    ]


def test_a_server_whose_address_has_a_wrong_type_is_one_mistake() -> None:
    assert found("  {type: chain, config: {steps: [{agent: a}]}}\ntools:\n  mcp: [{id: m, url: [5]}]\n") == [
        ("wrong-type", 8)
    ]


SHORT_FORMS = {
    "a task that is text among tasks in a mapping": (
        "{type: workflow, config: {tasks: {one: {agent: zz}, two: go}}}",
        ["step-form", "unknown-agent", "wrong-type"],
    ),
    "a route that is a list": (
        "{type: routing, config: {router: zz, routes: {one: [{agent: yy}], two: {steps: [{agent: xx}]}}}}",
        ["unknown-agent"] * 3 + ["unknown-key", "wrong-type", "wrong-type"],
    ),
    "one step instead of a list": (
        "{type: routing, config: {router: {agent: a}, routes: {one: {then: {agent: zz}}}}}",
        ["unknown-agent", "wrong-type"],
    ),
    "branches that are lists": (
        "{type: parallel, config: {branches: {one: [{agent: zz}], two: {steps: [{agent: a}]}}, reduce: yy}}",
        ["unknown-agent", "unknown-agent", "wrong-type", "wrong-type"],
    ),
    "a producer that is a step": (
        "{type: evaluator_optimizer, config: {producer: {agent: zz}, evaluator: yy, accept: 80}}",
        ["unknown-agent", "wrong-type", "wrong-type", "wrong-type"],
    ),
    "one choice instead of a list, and a mistyped form beside a mistyped key": (
        "{type: graph, config: {nodes: {one: {agnet: a, ipnut: x}}, edges: {from: one, choose: {when: x, too: on}}}}",
        ["step-form", "unknown-key", "unknown-key", "unknown-node", "wrong-type", "wrong-type"],
    ),
    "an edge that is a list": (
        "{type: graph, config: {nodes: {one: {agent: a}, two: a}, edges: [[one, two], {from: one, to: thre}]}}",
        ["unknown-node", "wrong-type", "wrong-type"],
    ),
}


@pytest.mark.parametrize("kind", SHORT_FORMS)
def test_a_short_form_of_another_program_is_read_as_it_is_meant(kind: str) -> None:
    text, codes = SHORT_FORMS[kind]
    assert [code for code, _ in found(f"  {text}\n")] == codes


@pytest.mark.parametrize(
    "part",
    [
        "steps: [hello]",
        "tasks: [hello, {agent: b}]",
        "branches: [a, b]",
        "nodes: {a: hello}",
        "chain: {steps: [hello]}",
        "pattern: {steps: [hello]}",
        "pattern: {type: workflow, tasks: [hello]}",
        "pattern: {type: routing, routes: [hello]}",
    ],
)
def test_no_finding_is_about_the_value_that_replaces_a_step_that_cannot_be_read(part: str) -> None:
    findings = check("flow.yaml", f"version: 2\nname: flow\n{part}\n")
    assert findings
    for finding in findings:
        assert not re.search(r"'-'|unnamed|UNNAMED", f"{finding.message} {finding.fix}"), finding
        assert not str(finding.fix).endswith(": "), finding
