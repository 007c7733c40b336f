"""What templates read of answers is found before the run: a text has no fields, an output has those of its schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strands_cli.app import load

SCHEMA = {
    "type": "object",
    "properties": {
        "label": {"type": "string"},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "inner": {"type": "object", "properties": {"key": {}}, "additionalProperties": False},
    },
}
AGENTS = {"a": {"prompt": "A", "output_schema": SCHEMA}, "b": {"prompt": "B"}}
SORT, GATE, CALL = {"agent": "a", "input": "go"}, {"type": "hitl", "prompt": "?"}, {"tool": "native:current_time"}


def _found(pattern: str, config: dict[str, Any], artifact: str = "x", version: int = 1, **more: Any) -> list[Any]:
    flow = {
        "version": version,
        "name": "f",
        "runtime": {"provider": "openai", "model_id": "m"},
        "agents": AGENTS,
        "pattern": {"type": pattern, "config": config},
        "outputs": {"artifacts": [{"path": "o.md", "from": artifact}]},
        **more,
    }
    return [one for one in load("<text>", json.dumps(flow)).findings if one.code == "unknown-name"]


def _of_chain(text: str, *before: dict[str, Any], version: int = 1) -> list[Any]:
    return _found("chain", {"steps": [*(before or (SORT,)), {"agent": "b", "input": text}]}, version=version)


@pytest.mark.parametrize(
    "text",
    [
        "{{ steps[0].response.label }}",
        "{{ steps[0].response['label'] }}",
        "{{ steps[-1].response.label | upper }}",
        "{{ steps[0].response.label.lower() }}",
        "{% if steps[0].response.label == 'x' %}y{% endif %}",
        "{% set r = steps[0].response %}{{ r.label }}",
        "{% for s in steps %}{{ s.response.label }}{% endfor %}",
        "{{ steps | map(attribute='response.label') | join }}",
        "{{ steps[0].response | attr('label') }}",
        "{{ last_response.label }}",
    ],
)
@pytest.mark.parametrize("version", [0, 1])
def test_a_field_of_a_text_is_an_error_with_the_output_as_its_fix(text: str, version: int) -> None:
    (found,) = _of_chain(text, version=version)
    assert found.severity == "error"
    assert ".output.label" in (found.fix or "")


@pytest.mark.parametrize(
    "text",
    [
        "{{ steps[0].response.lower() }} {{ steps[0].response.split(',')[0] }} {{ last_response.strip }}",
        "{{ steps[0].response[3] }} {{ steps[0].response[:9] }} {{ steps[0].response | length }}",
        "{{ (steps[0].response | fromjson).label }} {{ steps[0].output.label }} {{ steps[0].output.inner.key }}",
        "{{ steps[0].output.parts[0].name }} {% for p in steps[0].output.parts %}{{ p.name }}{% endfor %}",
        "{% for k, v in steps[0].output.items() %}{{ k }}{% endfor %} {{ steps[0].output.get('more') }}",
        "{{ steps[0].output.more | default('') }} {{ steps[0].output.label.upper() }}",
    ],
)
def test_what_a_text_and_an_output_have_gives_no_finding(text: str) -> None:
    assert _of_chain(text) == []


def test_a_field_of_a_text_that_may_be_missing_is_always_missing() -> None:
    (found,) = _of_chain("{{ steps[0].response.label | default('none') }}")
    assert (found.severity, found.fix) == ("warning", "did you mean `steps[0].output.label`?")


@pytest.mark.parametrize(
    ("pattern", "config", "place", "fix"),
    [
        (
            "workflow",
            {
                "tasks": [
                    {"id": "t", **SORT},
                    {"id": "u", "agent": "b", "deps": ["t"], "input": "{{ tasks.t.response.label }}"},
                ]
            },
            "/pattern/config/tasks/1/input",
            "`tasks.t.output.label`",
        ),
        (
            "graph",
            {
                "nodes": {"n": SORT, "m": {"agent": "b", "input": "x"}},
                "edges": [
                    {
                        "from": "n",
                        "choose": [{"when": "nodes.n.response.label == 'x'", "to": "m"}, {"when": "else", "to": "n"}],
                    }
                ],
            },
            "/pattern/config/edges/0/choose/0/when",
            "`nodes.n.output.label`",
        ),
        (
            "graph",
            {
                "nodes": {"n": SORT, "m": {"agent": "b", "input": "{{ last_response.label }}"}},
                "edges": [{"from": "n", "to": "m"}],
            },
            "/pattern/config/nodes/m/input",
            "`nodes.n.output.label`",
        ),
        (
            "routing",
            {
                "router": {"agent": "b", "input": "{{ 1 }}"},
                "routes": {"r": {"then": [SORT, {"agent": "b", "input": "{{ steps[0].response.label }}"}]}},
            },
            "/pattern/config/routes/r/then/1/input",
            "`steps[0].output.label`",
        ),
        (
            "parallel",
            {
                "branches": [{"id": "p", "steps": [SORT]}, {"id": "q", "steps": [{"agent": "b", "input": "x"}]}],
                "reduce": {"agent": "b", "input": "{{ branches.p.response.label }}"},
            },
            "/pattern/config/reduce/input",
            "`branches.p.output.label`",
        ),
        (
            "orchestrator_workers",
            {
                "orchestrator": {"agent": "b", "input": "split"},
                "worker_template": {"agent": "a"},
                "reduce": {"agent": "b", "input": "{% for w in workers %}{{ w.response.label }}{% endfor %}"},
            },
            "/pattern/config/reduce/input",
            "`.output.label`",
        ),
        (
            "evaluator_optimizer",
            {
                "producer": "b",
                "evaluator": {"agent": "b", "input": "{{ draft.title.text }}"},
                "accept": {"min_score": 1},
            },
            None,
            None,
        ),
    ],
)
def test_each_place_of_each_pattern_is_checked(
    pattern: str, config: dict[str, Any], place: str | None, fix: str | None
) -> None:
    found = _found(pattern, config)
    if place is None:
        assert found == [], "`title` is a method of texts"
        return
    assert [(one.severity, one.where.pointer) for one in found] == [("error", place)]
    assert fix is not None
    assert fix in found[0].fix


def test_artifacts_and_gates_are_checked() -> None:
    (found,) = _found("chain", {"steps": [SORT]}, artifact="{{ last_response.label }}")
    assert (found.where.pointer, found.fix) == ("/outputs/artifacts/0/from", "did you mean `steps[-1].output.label`?")
    (found,) = _of_chain("{{ hitl_response.label }}", GATE)
    assert found.fix == "where it is JSON: `(hitl_response | fromjson).label`"
    (found,) = _of_chain("{{ steps[0].response.iso }}", CALL)
    assert found.fix == "did you mean `steps[0].output.iso`?"


def test_an_agent_without_a_schema_has_no_output() -> None:
    (found,) = _of_chain("{{ steps[0].response.label }}", {"agent": "b", "input": "x"})
    assert "`output_schema`" in found.fix
    (found,) = _of_chain("{{ steps[0].output.label }}", {"agent": "b", "input": "x"})
    assert (found.severity, "`output_schema`" in found.message) == ("error", True)


def test_a_property_that_the_schema_does_not_name_is_reported() -> None:
    (closed,) = _of_chain("{{ steps[0].output.inner.kez }}")
    assert (closed.severity, closed.fix) == ("error", "did you mean `key`?")
    (opened,) = _of_chain("{{ steps[0].output.labl }}")
    assert (opened.severity, opened.fix) == ("warning", "did you mean `label`?")
    (deep,) = _of_chain("{{ steps[0].output.parts[0].nam }}")
    assert (deep.severity, deep.fix) == ("warning", "did you mean `name`?")
