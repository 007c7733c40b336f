"""`{topic}` where `topic` is an input is a warning, and other braces are the text's own."""

from __future__ import annotations

import json

import pytest

from strands_cli.errors import Finding
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document


def found(text: str, prompt: str = "Answer.") -> list[Finding]:
    step = {"agent": "a", "input": text, "vars": {"tone": "dry"}}
    flow = {
        "version": 2,
        "name": "flow",
        "runtime": {"provider": "replay"},
        "inputs": {"required": {"topic": "string"}},
        "agents": {"a": {"prompt": prompt}},
        "pattern": {"type": "chain", "config": {"steps": [step]}},
    }
    return [
        one for one in load_spec(read_document("flow.yaml", json.dumps(flow))).findings if one.code == "single-braces"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "On {topic}.",
        "/users/{topic}",
        "Read https://host/{topic} now",
        "Write /out/{topic}.md",
        "bees /{topic}",
        "On { topic }, {{ topic }}",
        "{topic} and {topic}",
    ],
)
def test_an_input_in_single_braces_is_a_warning_with_the_template(text: str) -> None:
    (finding,) = found(text)
    assert (finding.severity, finding.fix) == ("warning", "did you mean `{{ topic }}`?")
    (finding,) = found("go", prompt=text)
    assert finding.where is not None
    assert finding.where.pointer == "/agents/a/prompt"


def test_names_of_the_step_are_known_too() -> None:
    assert [one.fix for one in found("{tone} {other}")] == ["did you mean `{{ tone }}`?"]


@pytest.mark.parametrize(
    "text",
    [
        '{"topic": "bees"}',
        '{topic: "bees"}',
        "{'topic'}",
        "{{ topic }}",
        "{% if topic %}x{% endif %}",
        "${topic}",
        r"\frac{topic}",
        "{other}",
        "{topic, other}",
        "{{ {'topic': topic} }}",
        "{% raw %}/users/{topic}{% endraw %} of {{ topic }}",
        "{{ '{topic}' }}",
        "Call GET /users/{topic}.",
        "Call `/users/{topic}/posts`, then sum up",
        'Use "/v1/{topic}?all=yes"',
        "{%- raw -%} {topic} {%- endraw -%} of {{ topic }}",
    ],
)
def test_other_braces_are_left_alone(text: str) -> None:
    assert found(text) == []
