"""A template is checked without evaluating it, its numbers can be written, and its steps count what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from strands_cli.workflow.templates import bounds
from strands_cli.workflow.templates.plugin_filters import Facts, TemplateError
from strands_cli.workflow.templates.sandbox import Sandbox
from strands_cli.workflow.templates.template import Templates


def test_no_constant_is_evaluated_to_find_the_names_of_a_template() -> None:
    sandbox, evaluated = Sandbox(), []
    sandbox.filters["upper"] = evaluated.append
    text = "{{ 'a' | upper }}{% macro f(a) %}{{ 'b' | upper }}{{ a ~ b }}{% endmacro %}{{ f(c) }}{{ range(2) }}"
    facts = sandbox.facts(text)
    assert isinstance(facts, Facts)
    assert facts.paths == {("b",), ("c",)}
    assert evaluated == []


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ 1.5 | round(99999, 'ceil') }}", "digits"),
        ("{{ 1.5 | round(-99999, 'floor') }}", "digits"),
        ("{{ ('f' * 90000) | int(0, 16) }}", "bits"),
        ("{{ (2 ** 9999 - 1) + 2 ** 9999 + 2 ** 9999 }}", "bits"),
    ],
)
def test_numbers_that_nothing_can_write_are_an_error(template: str, problem: str) -> None:
    with pytest.raises(TemplateError, match=problem):
        Templates().render_value(template, {})


def test_numbers_are_rounded_as_usual() -> None:
    rounded = Templates().render("{{ 1.25 | round(1, 'floor') }} {{ 17 | round(-1) }} {{ 1.5 | round | int }}", {})
    assert rounded == "1.2 20 2"


@dataclass(frozen=True, slots=True)
class Result:
    output: Any


COSTLY = {
    "statements": "{% for a in range(100) %}" + "{% set y = a %}" * 200 + "{% endfor %}",
    "conditions": "{% for a in range(500) if " + "a and " * 50 + "1 %}{% endfor %}",
    "branches": "{% for a in range(100) %}{% if 0 %}" + "{% elif 0 %}" * 200 + "{% endif %}{% endfor %}",
    "defaults": "{% macro f(a=" + "1 and " * 50 + "1) %}{% endmacro %}{% for a in range(400) %}{{ f() }}{% endfor %}",
    "attributes": "{% for a in range(1000) %}{{ a | attr('real') }}{% endfor %}",
    "methods": "{% for a in range(3000) %}{{ 'a'.upper() }}{% endfor %}",
    "filters": "{% for a in range(4000) %}{{ 'a' | int }}{% endfor %}",
    "fields": "{% for a in range(1000) %}{{ '{} {}'.format(a, a) }}{% endfor %}",
    "patterns": "{% for a in range(2000) %}{{ 'a' is search('b') }}{% endfor %}",
    "lists in lists": "{% for a in range(20) %}{{ [] in x }}{% endfor %}",
    "comparison of results": "{% for a in range(20) %}{{ step == other }}{% endfor %}",
    "json of results": "{% for a in range(9) %}{{ step | tojson | length }}{% endfor %}",
    "comparison of mappings": "{% for a in range(20) %}{{ fixed == other }}{% endfor %}",
}


@pytest.mark.parametrize("template", COSTLY.values(), ids=COSTLY)
def test_what_takes_longer_counts_as_more_steps(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_STEPS", 20_000)
    names = {"x": [[1]] * 1000, "step": Result([[1]] * 1000), "other": Result([[1]] * 1000)}
    with pytest.raises(TemplateError, match="steps"):
        Templates().render(template, {**names, "fixed": MappingProxyType(names)})


def test_a_list_is_sliced() -> None:
    assert Templates().render("{{ [1, 2, 3] | slice(2) | list }}", {}) == "[[1, 2], [3]]"
