"""A template is checked without evaluating it, and its numbers can be written."""

from __future__ import annotations

import pytest

from strands_cli.workflow.templates import TemplateError, Templates
from strands_cli.workflow.templates.sandbox import Sandbox


def test_no_constant_is_evaluated_to_find_the_names_of_a_template() -> None:
    sandbox, evaluated = Sandbox(), []
    sandbox.filters["upper"] = evaluated.append
    text = "{{ 'a' | upper }}{% macro f(a) %}{{ 'b' | upper }}{{ a ~ b }}{% endmacro %}{{ f(c) }}{{ range(2) }}"
    assert sandbox.paths(text) == {("b",), ("c",)}
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
