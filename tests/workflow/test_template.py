"""Templates render what the format promises, in a sandbox that a workflow from a stranger cannot leave or blow up."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from strands_cli.workflow.templates import TemplateError, Templates, is_template
from tests.wordings import Wording


@dataclass(frozen=True, slots=True)
class Result:
    response: str
    agent: str = "a"


@pytest.fixture
def templates() -> Templates:
    return Templates()


RENDERED: dict[str, tuple[str, dict[str, Any], str]] = {
    "plain text": ("no marks { } % #", {}, "no marks { } % #"),
    "a name": ("hi {{ who }}", {"who": "Ada"}, "hi Ada"),
    "a step": ("{{ steps[0].response }}", {"steps": [{"response": "x"}]}, "x"),
    "a step object": ("{{ steps[-1].response }}", {"steps": [Result("x")]}, "x"),
    "a key before a method": ("{{ tasks.items.response }}", {"tasks": {"items": {"response": "x"}}}, "x"),
    "a hyphenated key": ("{{ nodes['a-b'].response }}", {"nodes": {"a-b": {"response": "x"}}}, "x"),
    "if and for": ("{% for i in a %}{% if i > 1 %}{{ i }},{% endif %}{% endfor %}", {"a": [1, 2, 3]}, "2,3,"),
    "last newline": ("{{ a }}\n", {"a": 1}, "1\n"),
    "no escaping": ("{{ a }}", {"a": "<b> & 'c'"}, "<b> & 'c'"),
    "values are no templates": ("{{ a }}", {"a": "{{ b }}"}, "{{ b }}"),
    "truncate": ("{{ a | truncate(8) }}", {"a": "one two three"}, "one..."),
    "truncate to nothing": ("{{ a | truncate(2) }}", {"a": "one two"}, "on"),
    "truncate what fits": ("{{ a | truncate(500) }}", {"a": "one two"}, "one two"),
    "tojson": (
        "{{ a | tojson }}",
        {"a": {"k": ["<é>", None, Result("x")]}},
        '{"k": ["<é>", null, {"response": "x", "agent": "a"}]}',
    ),
    "fromjson": ("{{ (a | fromjson).b[0] }}", {"a": '{"b": [5]}'}, "5"),
    "title, upper, lower": ("{{ a | title }}{{ a | upper }}{{ a | lower }}", {"a": "aB c"}, "Ab CAB Cab c"),
    "length, join, trim": ("{{ a | length }}{{ a | join('-') }}{{ ' x ' | trim }}", {"a": [1, 2]}, "21-2x"),
    "default": ("{{ nothing | default('d') }}{{ a.b | default('e') }}", {"a": {}}, "de"),
    "replace": ("{{ a | replace('x', 'y') }}", {"a": "xax"}, "yay"),
    "regex_search": ("{{ a | regex_search('[0-9]+') }}{{ a | regex_search('b([0-9])') }}", {"a": "ab12"}, "121"),
    "search": ("{% if a | search('b') %}1{% endif %}{% if a is search('z') %}2{% endif %}", {"a": "abc"}, "1"),
    "method": ("{{ a.lower().split(',')[0] }}", {"a": "X,Y"}, "x"),
    "format": ("{{ '%.2f' | format(a) }} {{ '{:.1f}'.format(a) }}", {"a": 1.234}, "1.23 1.2"),
    "$TRACE": ("{{ $TRACE }}", {"TRACE": "t"}, "t"),
    "bare $TRACE": ("$TRACE", {"TRACE": "t"}, "t"),
    "$TRACE in prose": ("the $TRACE of {{ a }}", {"a": 1}, "the $TRACE of 1"),
}


@pytest.mark.parametrize(("text", "names", "expected"), RENDERED.values(), ids=RENDERED)
def test_a_template_renders(text: str, names: dict[str, Any], expected: str, templates: Templates) -> None:
    assert templates.check_template(text) is None
    assert templates.render(text, names) == expected


REFUSED: dict[str, tuple[str, str | None]] = {
    "unknown name": ("{{ nam }}", "'name'"),
    "unknown name far off": ("{{ zzz }}", "name, numbers, result, step, text"),
    "unknown key": ("{{ step.respnse }}", "'response'"),
    "unknown key of a result": ("{{ result.respnse }}", "'response'"),
    "key of a text": ("{{ text.foo }}", "'foo'"),
    "beyond the end": ("{{ numbers[7] }}", "7"),
    "unknown in a condition": ("{% if nam %}{% endif %}", "'nam'"),
    "unknown in a loop": ("{% for x in nam %}{% endfor %}", "'nam'"),
    "unknown to a filter": ("{{ nam | upper }}", "'nam'"),
    "unknown in tojson": ("{{ nam | tojson }}", "'nam'"),
    "call of nothing": ("{{ nam() }}", "'nam'"),
    "dunder": ("{{ text.__class__.__mro__ }}", None),
    "dunder by filter": ("{{ (text | attr('__class__')).x }}", None),
    "dunder by item": ("{{ text['__class__'] }}", None),
    "format string attack": ("{{ '{0.__class__}'.format(text) }}", None),
    "changing a list": ("{{ numbers.append(1) }}", None),
    "changing a mapping": ("{{ step.update({}) }}", None),
    "division by zero": ("{{ 1 / 0 }}", None),
    "bad json": ("{{ text | fromjson }}", "JSON"),
    "bad pattern": ("{{ text | regex_search('(') }}", None),
    "long output": ("{% for i in range(90000) %}{{ 'x' * 1000 }}{% endfor %}", "4,000,000"),
    "long text": ("{{ 'x' * 10 ** 10 }}", "1,000,000"),
    "long list": ("{{ [1] * 10 ** 9 }}", "1,000,000"),
    "large number": ("{{ 9 ** 9 ** 9 ** 9 ** 9 }}", None),
    "long range": ("{% for i in range(10 ** 9) %}{% endfor %}", None),
    "wide number": ("{{ '%1000000000d' % 1 }}", None),
    "wide number by filter": ("{{ '%1000000000d' | format(1) }}", None),
    "wide format": ("{{ '{:>1000000000}'.format(1) }}", None),
    "nested format": ("{{ '{:{w}}'.format(1, w=1000000000) }}", None),
    "ljust": ("{{ text.ljust(10 ** 9) }}", "ljust"),
    "zfill": ("{{ text.zfill(10 ** 9) }}", "zfill"),
    "center": ("{{ text | center(10 ** 9) }}", "center"),
    "replace": ("{{ ('x' * 99999).replace('x', 'y' * 99999) }}", "replace"),
    "replace by filter": ("{{ ('x' * 99999) | replace('x', 'y' * 99999) }}", "replace"),
    "endless macro": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", None),
}


@pytest.mark.parametrize(("text", "named"), REFUSED.values(), ids=REFUSED)
def test_a_rendering_that_fails_says_why(text: str, named: str | None, templates: Templates, wording: Wording) -> None:
    names = {"name": "Ada", "step": {"response": "x"}, "text": "abc", "numbers": [1, 2], "result": Result("x")}
    with pytest.raises(TemplateError) as caught:
        templates.render(text, names)
    assert named is None or named in str(caught.value)
    wording(caught.value)


def test_an_error_names_its_line(templates: Templates, wording: Wording) -> None:
    with pytest.raises(TemplateError) as caught:
        templates.render("one\ntwo {{ a }}\nthree {{ b }}\n", {"a": 1})
    assert caught.value.line == 3
    wording(str(templates.check_template("one\n\n{{ x y }}")))


BROKEN = [
    "{{ a",
    "{% if a %}",
    "{% for %}{% endfor %}",
    "{{ a | nofilter }}",
    "{{ a is nothing_known }}",
    "{{ a b }}",
    "{% include 'x' %}",
    "{% extends 'x' %}",
    "{% import 'x' as y %}",
    "{% from 'x' import y %}",
    "{{ }}",
    "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
]


@pytest.mark.parametrize("text", BROKEN, ids=[text[:20] for text in BROKEN])
def test_a_broken_template_is_known_before_it_is_rendered(text: str, templates: Templates) -> None:
    assert templates.check_template(text)
    with pytest.raises(TemplateError):
        templates.render(text, {"a": 1})
    assert templates.names_in(text) == set()


CONDITIONS: dict[str, tuple[str, bool]] = {
    "else": ("else", True),
    "else in braces": ("{{ else }}", True),
    "bare": ("score >= 80", True),
    "in braces": ("{{ score < 80 }}", False),
    "contains": ("answer contains 'good'", True),
    "contains in braces": ("{{ answer contains 'bad' }}", False),
    "contains in a list": ("tags contains 'x' and not tags contains 'y'", True),
    "contains with a filter": ("answer contains 'GOOD' | lower", True),
    "contains after a filter": ("answer | upper contains 'GOOD'", True),
    "method": ("answer.lower().startswith('very')", True),
    "in": ("'good' in answer", True),
    "a name as the word": ("contains == 1", True),
    "comparison of paths": ("nodes.a.response == 'approved' or nodes['a'].iteration > 2", True),
    "braces in a text": ("answer != '}}'", True),
    "empty text is false": ("''", False),
}


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_is_decided(condition: str, expected: bool, templates: Templates) -> None:
    names = {
        "score": 90,
        "answer": "Very good",
        "tags": ["x"],
        "contains": 1,
        "nodes": {"a": {"response": "approved", "iteration": 1}},
    }
    assert templates.check_condition(condition) is None
    assert templates.evaluate(condition, names) is expected


@pytest.mark.parametrize(
    "condition", ["", "a ==", "{{ a }} and {{ b }}", "a %}{% set b = 1", "a b", "if a", "a contains"]
)
def test_a_broken_condition_is_known_before_it_is_decided(condition: str, templates: Templates) -> None:
    assert templates.check_condition(condition)
    with pytest.raises(TemplateError):
        templates.evaluate(condition, {"a": 1, "b": 1})


def test_an_unknown_filter_or_test_gets_a_close_word(templates: Templates, wording: Wording) -> None:
    wording(templates.check_template("{{ a | uper }}"))
    wording(templates.check_condition("a | uper == 'X'"))
    wording(templates.check_condition("a is definde"))


def test_a_condition_on_an_unknown_name_is_an_error(templates: Templates, wording: Wording) -> None:
    with pytest.raises(TemplateError) as raised:
        templates.evaluate("scor > 1", {"score": 1})
    wording(raised.value)


def test_a_lone_expression_keeps_its_type(templates: Templates) -> None:
    names = {"n": 3, "items": ["a", "b"], "deep": {"k": (1, 2)}}
    given = {
        "number": "{{ n }}",
        "list": "{{ items }}",
        "spaced": "  {{- n + 1 -}} ",
        "mixed": "n={{ n }}",
        "two": "{{ n }}{{ n }}",
        "nested": [{"x": "{{ deep }}"}, "plain", 5, None, True],
        "mapped": "{{ items | map('upper') }}",
        "negative": "{{ -n }}",
    }
    assert templates.render_value(given, names) == {
        "number": 3,
        "list": ["a", "b"],
        "spaced": 4,
        "mixed": "n=3",
        "two": "33",
        "nested": [{"x": {"k": [1, 2]}}, "plain", 5, None, True],
        "mapped": ["A", "B"],
        "negative": -3,
    }


def test_a_lone_expression_without_a_value_is_an_error(templates: Templates, wording: Wording) -> None:
    with pytest.raises(TemplateError) as raised:
        templates.render_value({"a": ["{{ m }}"]}, {})
    wording(raised.value)
    with pytest.raises(TemplateError) as refused:
        templates.render_value("{{ n.bit_length }}", {"n": 1})
    wording(refused.value)


def test_the_names_of_a_template_are_found(templates: Templates) -> None:
    text = """{{ steps[0].response }} {{ tasks['a-b'].response | upper }} {{ a[i].b }}
    {% for item in topics %}{{ item.name }}{{ loop.index }}{% endfor %}{% set own = 1 %}{{ own }}{{ range(2) }}
    {{ maybe | default(1) }}{% if sure is defined %}{{ sure.x }}{% endif %}{{ tasks.items() }}{{ f(g).h }}"""
    assert templates.paths_in(text) == {
        ("steps", 0, "response"),
        ("tasks", "a-b", "response"),
        ("a", "*"),
        ("i",),
        ("topics",),
        ("tasks",),
        ("f",),
        ("g",),
    }
    assert templates.names_in(text) == {"steps", "tasks", "a", "i", "topics", "f", "g"}
    assert templates.paths_in_condition("{{ a.b contains c }}") == {("a", "b"), ("c",)}
    assert templates.paths_in_condition("else") == frozenset()
    assert templates.names_in("{a} no template") == set()


def test_what_counts_as_a_template() -> None:
    assert is_template("{{ a }}")
    assert is_template("{% if a %}{% endif %}")
    assert is_template("{# note #}")
    assert not is_template("{a} 100% #1")


def test_text_without_marks_needs_no_jinja() -> None:
    program = (
        "import sys; from strands_cli.workflow.templates import Templates; "
        "print(Templates().render('plain', {}), 'jinja2' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "plain False\n"
