from __future__ import annotations

from typing import Any

import pytest

from strands_cli.errors import Finding
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.template import Templates
from strands_cli.yaml_files.document_reader import read_document
from tests.wordings import Wording
from tests.workflow.spoiled import AGENTS, HEAD, pattern

# Templates of a task that reads `a` without depending on it; whether rendering always fails then.
FAILS = [
    "{{ tasks.a.response }}",
    "{{ tasks['a'].response }}",
    "{{ tasks.a }}",
    "{{ tasks.a.response | upper }}",
    "{{ tasks.a.response | default('none') }}",
    "{% if tasks.a.response is defined %}x{% endif %}",
    "{% if tasks.a.response == 'x' %}y{% endif %}",
    "{% if tasks.a is defined %}x{% endif %}{{ tasks.a.response }}",
    "{% for word in tasks.a.response %}x{% endfor %}",
    "{% set said = tasks.a.response %}x",
    "{{ tasks.a.response and 'x' }}",
    "{{ 'x' if tasks.a.response else 'y' }}",
    "{{ tasks.a.response.upper() }}",
]
MAY_PASS = [
    "{% if tasks.a is defined %}{{ tasks.a.response }}{% endif %}",
    "{% if topic == 'never' %}{{ tasks.a.response }}{% endif %}",
    "{% if topic %}x{% else %}{{ tasks.a.response }}{% endif %}",
    "{{ tasks.a.response if 'a' in tasks else 'none' }}",
    "{{ tasks.a is defined and tasks.a.response == 'x' }}",
    "{{ topic or tasks.a.response }}",
    "{{ (tasks.a | default({'response': 'none'})).response }}",
    "{{ tasks.get('a', {}).get('response', 'none') }}",
    "{% for word in [] %}{{ tasks.a.response }}{% endfor %}",
    "{% for name, task in tasks.items() %}{{ task.response }}{% endfor %}x",
    "{% macro say() %}{{ tasks.a.response }}{% endmacro %}x",
    "{% set tasks = {'a': {'response': 'x'}} %}{{ tasks.a.response }}",
    "{{ topic == 'x' == tasks.a.response }}",
]


def findings(text: str, more: str = "") -> list[Finding]:
    tasks = f"tasks:\n  - {{id: a, agent: alpha}}\n  - {{id: b, agent: beta{more}, input: {text!r}}}"
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    tasks = tasks.replace(repr(text), f'"{quoted}"')
    loaded = load_spec(read_document("flow.yaml", pattern("workflow", tasks)))
    others = ("unused-agent", "undeclared-variable", "whole-result")
    return [found for found in loaded.findings if found.code not in others]


def renders(text: str, **tasks: Any) -> bool:
    try:
        Templates().render(text, {"topic": "t", "tasks": tasks})
    except TemplateError:
        return False
    return True


@pytest.mark.parametrize("text", FAILS)
def test_a_read_that_would_always_fail_is_an_error_that_names_the_dependency(text: str, wording: Wording) -> None:
    assert not renders(text)
    (found,) = findings(text)
    assert (found.code, found.severity) == ("missing-dependency", "error")
    assert found.fix is not None
    assert {"'a'", "`deps`"} <= set(found.fix.split())
    wording([found.message, found.fix])
    assert found.where is not None
    assert found.where.line == 11
    assert findings(text, ", deps: [a]") == []


@pytest.mark.parametrize("text", MAY_PASS)
def test_a_workflow_that_could_run_is_never_refused(text: str) -> None:
    assert renders(text)
    assert {found.severity for found in findings(text)} <= {"warning"}


def test_what_a_dependency_waits_for_may_be_read() -> None:
    tasks = "\n".join(
        [
            "tasks:",
            "  - {id: a, agent: alpha}",
            "  - {id: b, agent: beta, deps: [a]}",
            "  - {id: c, agent: beta, deps: [b], input: '{{ tasks.a.response }}'}",
        ]
    )
    assert load_spec(read_document("flow.yaml", pattern("workflow", tasks))).findings == ()


def test_a_later_task_that_only_a_branch_reads_is_a_warning() -> None:
    tasks = "\n".join(
        [
            "tasks:",
            "  - {id: a, agent: alpha, input: '{% if topic %}x{% else %}{{ tasks.b.response }}{% endif %}'}",
            "  - {id: b, agent: beta, deps: [a]}",
        ]
    )
    (found,) = load_spec(read_document("flow.yaml", pattern("workflow", tasks))).findings
    assert (found.code, found.severity) == ("unknown-name", "warning")


DECIDING = {
    "router": ("routing", "router: {agent: alpha}\nroutes: {x: {then: [{agent: beta}]}}"),
    "evaluator": ("evaluator_optimizer", "producer: beta\nevaluator: {agent: alpha}\naccept: {min_score: 5}"),
    "orchestrator": (
        "orchestrator_workers",
        'orchestrator: {agent: alpha, input: "{{ topic }}"}\nworker_template: {agent: beta}',
    ),
}


@pytest.mark.parametrize("role", DECIDING)
def test_a_schema_that_the_pattern_replaces_is_a_finding(role: str, wording: Wording) -> None:
    head = HEAD.replace(AGENTS, "agents: {alpha: {prompt: A, output_schema: {type: object}}, beta: {prompt: B}}")
    loaded = load_spec(read_document("flow.yaml", pattern(*DECIDING[role]).replace(HEAD, head)))
    (found,) = loaded.findings
    assert (found.code, found.severity) == ("no-effect", "warning")
    wording(found.message)
    assert found.where is not None
    assert found.where.pointer == "/agents/alpha/output_schema"


def test_every_read_is_seen_guarded_or_not() -> None:
    templates = Templates()
    text = "{{ nodes.a.response if nodes.a is defined else nodes['b'] | default('') }}{{ topic }}"
    assert templates.reads_in(text, "nodes") == {("nodes", "a", "response"), ("nodes", "a"), ("nodes", "b")}
    assert templates.reads_in("{{ nodes | length }}", "nodes") == {("nodes",)}
    assert templates.reads_in("nodes.a.response contains 'x'", "nodes", is_condition=True) == {
        ("nodes", "a", "response")
    }
    assert templates.reads_in("else", "nodes", is_condition=True) == frozenset()
