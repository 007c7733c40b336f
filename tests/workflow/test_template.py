"""Templates render what the format promises, in a sandbox that a workflow from a stranger cannot leave or blow up."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.template import Templates, is_template
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
    assert templates.template_error(text) is None
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

NS = "{% set ns = namespace(x=SEED) %}{% for i in range(90000) %}{% set ns.x = MORE %}{% endfor %}{{ END }}"


def grown(more: str, seed: str = "'ab' * 5000", end: str = "1") -> str:
    """Return a template that makes a value from the one before, again and again."""
    return NS.replace("SEED", seed).replace("MORE", more).replace("END", end)


# Each takes all memory, or hours, if nothing bounds it.
ENDLESS: dict[str, str] = {
    "long list": f"{{{{ [{'1, ' * 120_000}] | length }}}}",
    "slice": "{{ [1] | slice(30000000) | list | length }}",
    "slice of a block": "{% set x %}{{ [1] | slice(30000000) | list }}{% endset %}",
    "batch": "{{ [1] | batch(900000000, 0) | list | length }}",
    "filled batches": grown("[1] | batch(1000, ns.x) | list", "1"),
    "indent": "{{ 'a\nb' | indent(900000000) | length }}",
    "indent by a text": "{{ ('\n' * 90000) | indent('x' * 90000) | length }}",
    "wordwrap": "{{ ('a ' * 90000) | wordwrap(1, wrapstring='x' * 90000) | length }}",
    "center": "{{ 'a' | center(900000000) | length }}",
    "concatenation": grown("ns.x ~ ns.x"),
    "sum": grown("ns.x + ns.x"),
    "product": grown("ns.x * 9"),
    "list of lists": grown("[ns.x, ns.x]"),
    "mapping of mappings": grown("{'a': ns.x, 'b': ns.x}"),
    "tuple of tuples": grown("(ns.x, ns.x)"),
    "dict()": grown("dict(a=ns.x, b=ns.x)"),
    "repeated lists": grown("[ns.x] * 1000", "1"),
    "text of a list": "{{ [('x' * 999999)] * 999999 }}",
    "list of a text": "{{ ('x' * 999999) | batch(1) | list | tojson | length }}{{ ([[1] * 999] * 999) * 999 }}",
    "namespace of namespaces": "{% set a = namespace(x=1) %}" + "{% set a = namespace(x=a, y=a) %}" * 60 + "{{ a }}",
    "namespaces in lists": "{% set a = namespace(x=1) %}" + "{% set a = namespace(x=[a, a]) %}" * 60 + "{{ a }}",
    "captured block": "{% set y %}{% for i in range(90000) %}"
    + "x" * 9000
    + "{% endfor %}{% endset %}{{ y | length }}",
    "captured in a loop": "{% set ns = namespace(x='a') %}{% for i in range(90000) %}{% set y %}{{ ns.x }}{{ ns.x }}"
    "{% endset %}{% set ns.x = y %}{% endfor %}",
    "filter block": "{% filter upper %}{% for i in range(90000) %}" + "x" * 9000 + "{% endfor %}{% endfilter %}",
    "macro that doubles": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(90) }}",
    "macro that grows": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% else %}"
    + "x" * 999
    + "{% endif %}{% endmacro %}{{ f(60) | length }}",
    "call block": "{% macro f(n) %}{% if n %}{% call f(n - 1) %}{% endcall %}{% call f(n - 1) %}{% endcall %}"
    "{% endif %}{% endmacro %}{{ f(60) }}",
    "nested loops": "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
    "nested loops with conditions": "{% for a in range(90000) %}{% for b in range(999) if 0 %}{% endfor %}{% endfor %}",
    "recursive loop": "{% for a in [1] recursive %}{% if loop.depth < 60 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}",
    "filters in a loop": "{% set x = 'x' * 999999 %}{% for a in range(9000) %}{{ x|select('none')|list }}{% endfor %}",
    "sums in a loop": "{% set x = range(99999) | list %}{% for a in range(90000) %}{{ x | sum }}{% endfor %}",
    "slices in a loop": "{% set x = 'x' * 999999 %}{% for a in range(90000) %}{% set y = x[1:] %}{% endfor %}",
    "methods in a loop": "{% set x = 'x' * 999999 %}{% for a in range(90000) %}{% set y = x.upper() %}{% endfor %}",
    "patterns in a loop": "{% for a in range(90000) %}{{ ('a' * 999) is search('(a+)+b') }}{% endfor %}",
    "split": "{% for a in range(90000) %}{% set y = ('a ' * 99999).split() %}{% endfor %}",
    "join": "{{ (['x' * 99999] * 99999) | join(',') | length }}",
    "join of attributes": "{{ ([{'a': 'x' * 99999}] * 99) | join('y' * 99999, attribute='a') | length }}",
    "join by a text": "{{ ('x' * 999).join(range(99999) | map('string')) | length }}",
    "format": "{{ ('{0}' * 99999).format('x' * 99999) | length }}",
    "format of a mapping": "{{ ('{a}' * 99999).format_map({'a': 'x' * 99999}) | length }}",
    "percent": "{{ (('%s' * 9999) % (['x' * 9999] * 9999)) | length }}{{ ('%(a)s' * 99999) % {'a': 'x' * 99999} }}",
    "percent by filter": "{{ ('%(a)s' * 99999) | format(a='x' * 99999) | length }}",
    "bytes": "{{ 'x'.encode().ljust(900000000) | length }}",
    "bytes of a number": "{{ (1).to_bytes(900000000, 'big') | length }}",
    "translate": "{{ ('a' * 99999).translate({97: 'x' * 99999}) | length }}",
    "expandtabs": "{{ ('\t' * 99999).expandtabs(99999) | length }}",
    "numbers": grown("ns.x * ns.x", "9"),
    "indented json": "{{ [[[1]]] | tojson(indent=900000000) | length }}",
    "deep indented json": "{{ ('[' * 400 ~ '1,' * 20000 ~ '1' ~ ']' * 400) | fromjson | tojson(indent=100) | length }}",
    "looks at a text": "{% set x = 'x' * 999999 %}{% for a in range(90000) %}{{ x is lower }}{% endfor %}",
    "searches in a range": "{% for a in range(90000) %}{{ 'b' in range(99999) }}{% endfor %}",
    "comparisons": "{% set x, y = [1] * 99999, [1] * 99999 %}{% for a in range(90000) %}{{ x == y }}{% endfor %}",
    "changes": "{% set x, y = [1] * 99999, [1] * 99999 %}{% for a in range(90000) %}"
    "{{ loop.changed(x if a % 2 else y) }}{% endfor %}",
    "questions to a text": "{% set x = 'x' * 999999 %}{% for a in range(90000) %}{{ x.isalpha() }}{% endfor %}",
    "words": "{% set x = 'a ' * 499999 %}{% for a in range(90000) %}{{ x | title | length }}{% endfor %}",
    "attribute of many parts": "{{ (['a'] * 99999) | map(attribute='0.' * 99999 ~ '0') | list | length }}",
    "filters of filters": "{% set ns = namespace(x='x' * 499999) %}{% for i in range(150) %}"
    "{% set ns.x = ns.x | select('string') %}{% endfor %}{{ ns.x | list | length }}",
    "numbers of one hash": "{{ range(0, 99999 * (2**61 - 1), 2**61 - 1) | unique | list | length }}",
    "mapping of one hash": "{{ dict(range(0, 99999 * (2**61 - 1), 2**61 - 1) | batch(2) | list) | length }}",
    "keys of one hash": "{{ {}.fromkeys(range(0, 99999 * (2**61 - 1), 2**61 - 1)) | length }}",
    "sum of lists": "{{ ([[1] * 9] * 99999) | sum(start=[]) | length }}" * 9,
    "wide fields": "{{ ('{a:9999}' * 39999).format(a=1) | length }}",
    "characters of four bytes": "".join(f"{{% set x{n} = '\U0001f600' * 999999 %}}" for n in range(120)),
    "ranges in any case": "{% for a in range(90000) %}"
    "{{ '' is search('(?i)' ~ ('[\\u0100-\\uffff]' * 80) ~ a) }}{% endfor %}",
    "expressions": "{{ 1 }}" * 150_000,
    "many statements": "{% set m = {'a': {'b': 1}} %}{% for a in range(90000) %}"
    + "{% set y = m.a.b %}" * 9_000
    + "{% endfor %}",
    "items of a list": "{% set x = range(99999) | list %}{% for a in range(90000) %}{{ -1 in x }}{% endfor %}",
    "attributes": "{% for a in range(90000) %}" + "{% set y = a | attr('real') %}" * 50 + "{% endfor %}",
    "calls": "{% set c = cycler(1) %}{% for a in range(90000) %}" + "{% set y = c.next() %}" * 50 + "{% endfor %}",
}
# As many steps in loops, tests and filters. What takes far longer is not counted for what it costs.
ORDINARY = (
    "{% for a in range(90000) %}{% for b in range(90) %}{% if b is odd %}{{ '' | string }}{% endif %}{% endfor %}"
    "{% endfor %}"
)
# Some megabytes: far less than any of these takes without bounds.
LIMITED = f"""
import resource, sys, time
from contextlib import suppress
from strands_cli.workflow.templates.template import Templates
from strands_cli.workflow.templates.plugin_filters import TemplateError
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
text = sys.stdin.read()
began = time.process_time()
with suppress(TemplateError):
    Templates().render({ORDINARY!r}, {{}})
ordinary = time.process_time() - began
began = time.process_time()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = Templates().template_error(text)
grew = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
if grew > 100_000:
    sys.exit(f"to check it took {{grew}} KB")
if found is None:
    try:
        Templates().render(text, {{}})
    except TemplateError as error:
        found = error
if found is None:
    sys.exit("it renders")
if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > 400_000:
    sys.exit("it takes too much memory")
if time.process_time() - began > 4 * ordinary:
    sys.exit(f"it takes {{time.process_time() - began:.1f}} s, and an ordinary template {{ordinary:.1f}} s")
print(found)
"""


@pytest.mark.hostile
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_a_template_that_would_take_all_memory_or_time_ends_with_an_error(text: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED], input=text, capture_output=True, text=True, check=False, timeout=300
    )
    assert (ran.returncode, ran.stderr) == (0, ""), text
    assert "memory" not in ran.stdout, "a bound was reached, not the end of the memory"


def test_the_length_of_expressions_is_bounded_and_not_that_of_the_text_beside_them(templates: Templates) -> None:
    text = "word, " * 150_000
    assert templates.render(text + "{{ 1 }}", {}) == f"{text}1"
    with pytest.raises(TemplateError):
        templates.render(f"{{{{ [{'1, ' * 50_000}] | length }}}}", {})


def test_large_templates_within_the_bounds_render(templates: Templates) -> None:
    rows = [{"name": f"row {number}", "parts": list(range(20))} for number in range(2000)]
    text = (
        "{% for row in rows %}{% if row.name %}{{ loop.index }} {{ row.name | upper }}: {{ row.parts | join(', ') }}\n"
    )
    rendered = templates.render(text + "{% endif %}{% endfor %}", {"rows": rows})
    assert len(rendered.splitlines()) == 2000
    long = {"steps": [{"response": "word " * 100_000}] * 3}
    assert len(templates.render("{% for step in steps %}{{ step.response ~ '!' }}{% endfor %}", long)) == 1_500_003
    assert len(templates.render("{{ steps | map(attribute='response') | join('-') | indent(2) }}", long)) == 1_500_002


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
    wording(str(templates.template_error("one\n\n{{ x y }}")))


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
    "{{ " + "1" * 5000 + " }}",
]


@pytest.mark.parametrize("text", BROKEN, ids=[text[:20] for text in BROKEN])
def test_a_broken_template_is_known_before_it_is_rendered(text: str, templates: Templates) -> None:
    assert templates.template_error(text)
    with pytest.raises(TemplateError):
        templates.render(text, {"a": 1})
    assert templates.paths_in(text) == frozenset()


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
    assert templates.condition_error(condition) is None
    assert templates.evaluate(condition, names) is expected


@pytest.mark.parametrize(
    "condition", ["", "a ==", "{{ a }} and {{ b }}", "a %}{% set b = 1", "a b", "if a", "a contains"]
)
def test_a_broken_condition_is_known_before_it_is_decided(condition: str, templates: Templates) -> None:
    assert templates.condition_error(condition)
    with pytest.raises(TemplateError):
        templates.evaluate(condition, {"a": 1, "b": 1})


def test_an_unknown_filter_or_test_gets_a_close_word(templates: Templates, wording: Wording) -> None:
    wording(str(templates.template_error("{{ a | uper }}")))
    wording(str(templates.condition_error("a | uper == 'X'")))
    wording(str(templates.condition_error("a is definde")))


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
        ("a", "*", "b"),
        ("i",),
        ("topics",),
        ("topics", "*", "name"),
        ("tasks",),
        ("f",),
        ("g",),
    }
    assert {path[0] for path in templates.paths_in(text)} == {"steps", "tasks", "a", "i", "topics", "f", "g"}
    assert templates.paths_in("{{ a.b contains c }}", is_condition=True) == {("a", "b"), ("c",)}
    assert templates.paths_in("else", is_condition=True) == frozenset()
    assert templates.paths_in("{a} no template") == frozenset()


def test_what_counts_as_a_template() -> None:
    assert is_template("{{ a }}")
    assert is_template("{% if a %}{% endif %}")
    assert is_template("{# note #}")
    assert not is_template("{a} 100% #1")


def test_text_without_marks_needs_no_jinja() -> None:
    program = (
        "import sys; from strands_cli.workflow.templates.template import Templates; "
        "print(Templates().render('plain', {}), 'jinja2' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "plain False\n"
