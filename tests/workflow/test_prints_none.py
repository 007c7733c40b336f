"""Which templates print an optional input that may have no value."""

from __future__ import annotations

import pytest

from strands_cli import app
from strands_cli.workflow.templates.given_values import AbsentInput
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.template import Templates
from tests.wordings import Wording

FLOW = """
version: 2
name: flow
inputs:
  absent: {absent}
  optional: {{who: string, age: integer, place: {{type: string, default: here}}}}
  values: {{known: x}}
agents: {{a: {{prompt: You write., tools: []}}}}
pattern: {{type: chain, config: {{steps: [{step}]}}}}
"""
AGENT = "{{agent: a, input: '{text}'}}"


def warned(step: str, absent: str = "none") -> list[str]:
    loaded = app.load("<flow>", FLOW.format(absent=absent, step=step))
    return [found.message.split("`")[1] for found in loaded.findings if found.code == "prints-none"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Hi {{ who }}", ["who"]),
        ("{{ who }}, {{ age }} in {{ place }}", ["who", "age"]),
        ("{% if place %}{{ who }}{% endif %}", ["who"]),
        ("{% if who %}Hi {{ who }}{% endif %}", []),
        ("{% if age and age > 3 %}{{ age }}{% endif %}", []),
        ('{{ who or "you" }} {{ who | tojson }} {{ known }} {{ place }}', []),
    ],
)
def test_what_a_template_prints_without_asking_for_it(text: str, names: list[str]) -> None:
    assert warned(AGENT.format(text=text)) == names
    assert warned(AGENT.format(text=text), absent="undefined") == []


def test_an_argument_that_is_an_input_has_its_value() -> None:
    call = '{{tool: native:file_write, input: {{path: x, content: "{}"}}}}'
    assert warned(call.format("{{ who }}")) == []
    assert warned(call.format("Hi {{ who }}")) == ["who"]


def test_the_error_of_an_input_without_a_value_names_it_and_guesses_no_other(wording: Wording) -> None:
    with pytest.raises(TemplateError) as raised:
        Templates().render("{{ extra }}", {"extra": AbsentInput(name="extra")})
    assert raised.value.is_unknown
    wording(raised.value.message)
